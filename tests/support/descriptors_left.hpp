// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "carillon/memory.hpp"

namespace carillon::test {

// While this object lives, the process may open so many more descriptors.
class DescriptorsLeft {
   public:
    DescriptorsLeft(pid_t process, unsigned more) : process_(process) {
        EXPECT_EQ(::prlimit(process, RLIMIT_NOFILE, nullptr, &before_), 0);
        rlim_t end = 0;
        for (unsigned free = 0; free <= more; ++end) free += is_open(end) ? 0 : 1;
        ::rlimit const tight{end - 1, before_.rlim_max};
        EXPECT_EQ(::prlimit(process, RLIMIT_NOFILE, &tight, nullptr), 0);
    }
    ~DescriptorsLeft() { ::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
    DescriptorsLeft(DescriptorsLeft const&) = delete;
    DescriptorsLeft& operator=(DescriptorsLeft const&) = delete;

   private:
    [[nodiscard]] bool is_open(rlim_t number) const {
        auto const file = "/proc/" + std::to_string(process_) + "/fd/" + std::to_string(number);
        return std::filesystem::is_symlink(file);
    }

    pid_t process_;
    ::rlimit before_{};
};

// While this object lives, this process may have so many descriptors, and all numbers below `open`
// are taken.
class DescriptorsOpen {
   public:
    DescriptorsOpen(rlim_t limit, int open) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        ::rlimit const few{limit, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        do {
            opened_.emplace_back(::eventfd(0, EFD_CLOEXEC));
        } while (opened_.back().get() >= 0 && opened_.back().get() + 1 < open);
    }
    ~DescriptorsOpen() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    DescriptorsOpen(DescriptorsOpen const&) = delete;
    DescriptorsOpen& operator=(DescriptorsOpen const&) = delete;

   private:
    ::rlimit before_{};
    std::vector<FileDescriptor> opened_;
};

}  // namespace carillon::test

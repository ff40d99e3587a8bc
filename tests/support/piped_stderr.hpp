// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>

#include "carillon/memory.hpp"

namespace carillon::test {

// While it lives stderr is a pipe of one page.
class PipedStderr {
   public:
    PipedStderr() : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        reader_ = FileDescriptor(ends[0]);
        FileDescriptor const writer(ends[1]);
        EXPECT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
        EXPECT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    }
    ~PipedStderr() { ::dup2(before_.get(), STDERR_FILENO); }
    PipedStderr(PipedStderr const&) = delete;
    PipedStderr& operator=(PipedStderr const&) = delete;

    void close_reader() { reader_ = FileDescriptor(); }
    // Waits for text and returns it; empty if none came in time.
    [[nodiscard]] std::string read(int milliseconds = 30'000) const {
        ::pollfd readable{reader_.get(), POLLIN, 0};
        if (::poll(&readable, 1, milliseconds) != 1) return {};
        std::array<char, 65536> bytes{};
        auto const got = ::read(reader_.get(), bytes.data(), bytes.size());
        return {bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
    }

   private:
    FileDescriptor before_;
    FileDescriptor reader_;
};

}  // namespace carillon::test

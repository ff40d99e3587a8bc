// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "carillon/memory.hpp"

namespace carillon::test {

// Whether this process still has the memfd of a memory mapped: by its file, since an address that
// was freed may be something else's at once.
class MappedFile {
   public:
    explicit MappedFile(Memory const& memory) : fd_(memory.export_fd()) {
        struct stat file {};
        EXPECT_EQ(::fstat(fd_.get(), &file), 0);
        inode_ = ' ';
        inode_ += std::to_string(file.st_ino) + ' ';
    }
    [[nodiscard]] bool is_mapped() const {
        std::ifstream maps("/proc/self/maps");
        std::string line;
        while (std::getline(maps, line)) {
            if (line.find("memfd:") != std::string::npos &&
                line.find(inode_) != std::string::npos) {
                return true;
            }
        }
        return false;
    }

   private:
    FileDescriptor fd_;
    std::string inode_;
};

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>

#include "carillon/error.hpp"
#include "carillon/memory.hpp"

namespace carillon::fuzz {

// A file in memory with these bytes, for functions that read files by their names.
class MemoryFile {
   public:
    explicit MemoryFile(std::span<unsigned char const> bytes)
        : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        if (::write(file_.get(), bytes.data(), bytes.size()) !=
            static_cast<ssize_t>(bytes.size())) {
            throw SystemError("write", errno);
        }
    }
    [[nodiscard]] std::string path() const {
        return "/proc/self/fd/" + std::to_string(file_.get());
    }

   private:
    FileDescriptor file_;
};

}  // namespace carillon::fuzz

// SPDX-License-Identifier: Apache-2.0
// Who closes a file descriptor: of memory that other processes map, of an event that a program
// polls.
#pragma once

#include <utility>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// Owns an open file descriptor and closes it.
class FileDescriptor {
   public:
    FileDescriptor() = default;
    // Takes it over; -1 for none. A descriptor 0, 1 or 2 is moved above 2, close-on-exec: what the
    // program prints would go to it. Where no number is left it is closed, this has none, and errno
    // says why.
    explicit FileDescriptor(int fd);
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    FileDescriptor(FileDescriptor const&) = delete;
    FileDescriptor& operator=(FileDescriptor const&) = delete;
    ~FileDescriptor();

    [[nodiscard]] int get() const { return fd_; }  // it stays its owner; -1 for none
    // Gives the descriptor away: the caller closes it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    // Keeps it from programs that this one starts. Throws SystemError.
    void close_on_exec() const;
    // Another descriptor of the same file, above 2 and close-on-exec. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const;

   private:
    int fd_ = -1;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The owner of a file descriptor: of memory that other processes map, or of an event that a program
// polls.
#pragma once

#include <utility>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// Owns an open file descriptor and closes it.
class FileDescriptor {
   public:
    FileDescriptor() = default;
    // Takes the descriptor over; -1 for none. Descriptors 0, 1 and 2 are moved above 2, with
    // close-on-exec: the program's output would go there. If no number is left the descriptor is
    // closed, this object has none, and errno says why.
    explicit FileDescriptor(int fd);
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();

    [[nodiscard]] int get() const { return fd_; }  // it stays the owner; -1 for none
    // Gives the descriptor away: the caller closes it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    // Keeps the descriptor from programs that this one starts. Throws SystemError.
    void close_on_exec() const;
    // Another descriptor of the same file, above 2 and close-on-exec. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const;

   private:
    int fd_ = -1;
};

}  // namespace carillon

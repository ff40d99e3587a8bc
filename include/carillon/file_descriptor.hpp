// SPDX-License-Identifier: Apache-2.0
// `FileDescriptor`: owns a descriptor, of memory for other processes or of an event for poll().
#pragma once

#include <utility>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// Owns an open file descriptor and closes it.
class FileDescriptor {
   public:
    FileDescriptor() = default;
    // Takes the descriptor over; -1: none. Descriptors 0, 1 and 2 are moved above 2, with
    // close-on-exec, because the program's output would go there. If no number is left, the
    // descriptor is closed, this object has none, and errno has the reason.
    explicit FileDescriptor(int fd);
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();

    [[nodiscard]] int get() const { return fd_; }  // it stays the owner; -1 for none
    // Gives the descriptor away; the caller closes it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    // Closes the descriptor in programs that this one starts. Throws SystemError.
    void close_on_exec() const;
    // Returns another descriptor of the same file, above 2 and close-on-exec. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const;

   private:
    int fd_ = -1;
};

}  // namespace carillon

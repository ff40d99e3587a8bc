// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace carillon {

// Owns an open file descriptor and closes it.
class FileDescriptor {
   public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    FileDescriptor(FileDescriptor const&) = delete;
    FileDescriptor& operator=(FileDescriptor const&) = delete;
    ~FileDescriptor();

    [[nodiscard]] int get() const { return fd_; }
    // Gives the descriptor away: the caller closes it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    // Keeps it from programs that this one starts. Throws SystemError.
    void close_on_exec() const;
    // Another descriptor of the same file, close-on-exec. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const;

   private:
    int fd_ = -1;
};

}  // namespace carillon

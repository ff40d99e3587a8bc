// SPDX-License-Identifier: Apache-2.0
#include "carillon/file_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "carillon/error.hpp"

namespace carillon {
namespace {

constexpr int first_own = STDERR_FILENO + 1;

int above_standard(int fd) noexcept {
    if (fd < 0 || fd >= first_own) return fd;
    int const moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first_own);
    int const error = errno;
    ::close(fd);
    errno = error;
    return moved;
}

}  // namespace

FileDescriptor::FileDescriptor(int fd) : fd_(above_standard(fd)) {}

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
}

void FileDescriptor::close_on_exec() const {
    if (::fcntl(fd_, F_SETFD, FD_CLOEXEC) != 0) throw SystemError("fcntl(F_SETFD)", errno);
}

FileDescriptor FileDescriptor::duplicate() const {
    int const copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, first_own);
    if (copy < 0) throw SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
    return FileDescriptor(copy);
}

}  // namespace carillon

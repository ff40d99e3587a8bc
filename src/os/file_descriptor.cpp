// SPDX-License-Identifier: Apache-2.0
#include "carillon/memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "carillon/error.hpp"

namespace carillon {

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
}

void FileDescriptor::close_on_exec() const {
    if (::fcntl(fd_, F_SETFD, FD_CLOEXEC) != 0) throw SystemError("fcntl(F_SETFD)", errno);
}

FileDescriptor FileDescriptor::duplicate() const {
    int const copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
    return FileDescriptor(copy);
}

}  // namespace carillon

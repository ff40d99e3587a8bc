// SPDX-License-Identifier: Apache-2.0
#include "ipc/wakeup.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "carillon/error.hpp"

namespace carillon::detail {

Wakeup::Wakeup(std::string_view call) : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_.get() < 0) throw SystemError(fmt::format("{}: eventfd", call), errno);
}

void Wakeup::wake() const noexcept {
    std::uint64_t const one = 1;
    (void)!::write(event_.get(), &one, sizeof(one));  // full: it is awake
}

void Wakeup::reset() const noexcept {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof(count));
}

FileDescriptor end_of_process(std::string_view call, pid_t process) {
    if (process <= 0) return {};
    FileDescriptor end(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    int const error = errno;
    bool const none_left = error == EMFILE || error == ENFILE || error == ENOMEM;
    if (end.get() < 0 && none_left) throw SystemError(fmt::format("{}: pidfd_open", call), error);
    return end;
}

}  // namespace carillon::detail

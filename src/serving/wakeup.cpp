// SPDX-License-Identifier: Apache-2.0
#include "serving/wakeup.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "carillon/error.hpp"

namespace carillon::detail {

Wakeup::Wakeup() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_.get() < 0) throw SystemError("eventfd", errno);
}

void Wakeup::wake() const noexcept {
    std::uint64_t const one = 1;
    (void)!::write(event_.get(), &one, sizeof(one));  // full: it is awake
}

void Wakeup::reset() const noexcept {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof(count));
}

}  // namespace carillon::detail

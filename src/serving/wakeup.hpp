// SPDX-License-Identifier: Apache-2.0
// A wakeup for threads that serve sockets and wait for other events, too.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "carillon/error.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// Wakes a thread that polls fd(). Any thread may call it.
class Wakeup {
   public:
    // Throws SystemError.
    Wakeup() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (event_.get() < 0) throw SystemError("eventfd", errno);
    }

    void wake() const noexcept { (void)::eventfd_write(event_.get(), 1); }  // full: it is awake
    void reset() const noexcept {  // until it is woken again
        std::uint64_t count = 0;
        (void)::eventfd_read(event_.get(), &count);
    }
    [[nodiscard]] int fd() const { return event_.get(); }

   private:
    FileDescriptor event_;
};

}  // namespace carillon::detail

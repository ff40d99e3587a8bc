// SPDX-License-Identifier: Apache-2.0
// What the threads that serve sockets wait for beside them.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "carillon/error.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// Wakes a thread that polls fd(). From any thread.
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

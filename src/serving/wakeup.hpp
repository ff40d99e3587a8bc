// SPDX-License-Identifier: Apache-2.0
// What the threads that serve sockets wait for beside them.
#pragma once

#include "carillon/memory.hpp"

namespace carillon::detail {

// Wakes a thread that polls fd(). From any thread.
class Wakeup {
   public:
    // Throws SystemError.
    Wakeup();

    void wake() const noexcept;
    void reset() const noexcept;  // until it is woken again
    [[nodiscard]] int fd() const { return event_.get(); }

   private:
    FileDescriptor event_;
};

}  // namespace carillon::detail

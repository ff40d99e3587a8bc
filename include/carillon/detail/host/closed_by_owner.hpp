// SPDX-License-Identifier: Apache-2.0
// How a server detects that the program has destroyed an object that it serves.
#pragma once

#include <atomic>

namespace carillon::detail {

// The part of an owner's object that servers share, and that outlives it: it says whether the
// object has been destroyed. From any thread.
class ClosedByOwner {
   public:
    void close() noexcept { closed_.store(true, std::memory_order_release); }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

   protected:
    ~ClosedByOwner() = default;

   private:
    std::atomic<bool> closed_ = false;
};

}  // namespace carillon::detail

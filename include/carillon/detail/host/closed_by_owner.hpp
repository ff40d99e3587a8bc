// SPDX-License-Identifier: Apache-2.0
// How a server finds that the program has destroyed an object that it serves.
#pragma once

#include <atomic>

namespace carillon::detail {

// What servers share with the owner's object, and have for longer than it lives: it says whether
// the owner's object has been destroyed. From any thread.
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

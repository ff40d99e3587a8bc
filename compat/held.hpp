// SPDX-License-Identifier: Apache-2.0
// Carillon's memory by nothing but a device's address of it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "carillon/held_memory.hpp"
#include "forks.hpp"

namespace carillon::compat {

// Keeps a memory of Carillon's: it stays although its user frees it.
class Held {
   public:
    Held() = default;  // none
    explicit Held(HeldMemory const& memory) : memory_(memory) {}
    Held(Held&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    Held& operator=(Held&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~Held() {
        if (memory_.release != nullptr && !maker_.is_a_parent()) memory_.release(memory_.device);
    }
    [[nodiscard]] HeldMemory const& memory() const { return memory_; }

   private:
    HeldMemory memory_{};
    Maker maker_;
};

// Holds the memory in which the first of `size` bytes from `address` on lies; or the memory that
// begins among them in the same page of GPU_PAGE_SIZE, for a caller who has rounded the address.
// The memory may be of any copy of Carillon in this process. Sets `inherited` where a parent
// process alone has such memory; nothing is held then.
[[nodiscard]] std::optional<Held> hold(std::uint64_t address, std::uint64_t size, bool& inherited);

}  // namespace carillon::compat

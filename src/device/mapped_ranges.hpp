// SPDX-License-Identifier: Apache-2.0
// The device memory of this copy of the library, by the device's address (held_memory.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/held_memory.hpp"

namespace carillon {
class Memory;
}

namespace carillon::detail {

// Makes memory findable by its address (hold_memory) until it is freed.
class ListedRange {
   public:
    ListedRange(void* device, void* host, std::size_t size, bool write_combining);
    ~ListedRange();
    ListedRange(ListedRange const&) = delete;
    ListedRange& operator=(ListedRange const&) = delete;

    // The user frees `memory`, to which this range belongs. If it is held, the list takes it over
    // until the last hold ends, nobody finds it any more, and the result is true.
    [[nodiscard]] bool take_over_if_held(Memory& memory) const noexcept;

   private:
    std::uint64_t begin_;
};

// The HoldMemory function of this copy. Its ELF note refers to it by an assembler name that no
// other copy sees.
[[nodiscard, gnu::visibility("hidden")]] HoldResult hold_memory(
    std::uint64_t address, std::uint64_t size, HeldMemory& found) asm("carillon_hold_memory");

}  // namespace carillon::detail

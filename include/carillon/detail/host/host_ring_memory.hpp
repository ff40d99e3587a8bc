// SPDX-License-Identifier: Apache-2.0
// The memory of a ring between two threads of the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// What two cores write lies so far far_apart: CPUs fetch cache lines in pairs.
inline constexpr std::size_t far_apart = 128;

// The slots and, on a line of its own, the credit word.
class HostRingMemory {
   public:
    HostRingMemory(std::uint32_t capacity, std::uint32_t slot_lines, Sequence first);

    [[nodiscard]] RingView const& view() const { return view_; }

   private:
    struct alignas(far_apart) Block {
        std::byte bytes[far_apart];
    };

    std::unique_ptr<Block[]> blocks_;
    RingView view_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include "carillon/host_ring.hpp"

#include "carillon/detail/host/checks.hpp"
#include "cpu/cpu.hpp"

namespace carillon::detail {
namespace {

std::size_t blocks_for(std::uint32_t capacity, std::uint32_t slot_lines) {
    check_capacity("HostRing", capacity);
    require_single_copy_16_bytes("HostRing");
    constexpr std::size_t lines_per_block = far_apart / sizeof(Line);
    return std::size_t{capacity} * slot_lines / lines_per_block + 1;  // the last one for the credit
}

}  // namespace

// Zeroed memory, and made present: a page fault is not to come with the first lap.
HostRingMemory::HostRingMemory(std::uint32_t capacity, std::uint32_t slot_lines, Sequence first)
    : blocks_((check_first("HostRing", first), new Block[blocks_for(capacity, slot_lines)]())),
      view_{reinterpret_cast<Line*>(blocks_.get()),
            reinterpret_cast<std::uint64_t*>(&blocks_[blocks_for(capacity, slot_lines) - 1]),
            capacity, first, slot_lines} {
    format_ring(view_);
}

}  // namespace carillon::detail

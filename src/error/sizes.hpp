// SPDX-License-Identifier: Apache-2.0
// Checks of sizes that depend on a caller's numbers: none wraps, and impossible ones are refused.
// Products need no check if both factors have at most 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace carillon::detail {

// Throws OutOfMemoryError for more than a program can address; any smaller size can be rounded up
// to whole pages.
void require_addressable(std::size_t size);
// The checked sum.
[[nodiscard]] std::size_t sum_of_sizes(std::size_t size, std::size_t more);
// Throws OutOfMemoryError for more than this machine has.
void require_machine_memory(std::size_t size);
// Throws UsageError unless the reply slots are 1 to 2^24.
void require_reply_slots(std::uint64_t slots);
// Throws UsageError unless the senders are at least 1, and no more threads than a machine can have.
void require_senders(std::uint64_t senders);
// Throws UsageError unless a ring of `capacity` slots can have stripes of `stripe` slots.
void require_stripe(std::uint32_t stripe, std::uint32_t capacity);

// Throws UsageError unless [offset, offset + size) lies within `limit` bytes.
void require_range(std::size_t offset, std::size_t size, std::size_t limit);

[[noreturn]] void throw_null_bytes(std::size_t size);

// Throws UsageError for bytes at a null pointer, unless there are none.
inline void require_bytes_there(std::span<std::byte const> bytes) {
    if (bytes.data() == nullptr && !bytes.empty()) [[unlikely]]
        throw_null_bytes(bytes.size());
}

}  // namespace carillon::detail

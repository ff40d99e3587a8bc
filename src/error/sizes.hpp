// SPDX-License-Identifier: Apache-2.0
// Sizes that come of numbers which a caller chose: none wraps, and what cannot be is not tried.
// Products need no check where both factors have 32 bits at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/host/named_checks.hpp"

namespace carillon::detail {

// Throws OutOfMemoryError for more than a program can address:
// what else can be, can be rounded up to whole pages too.
void require_addressable(std::size_t size);
// The same for the sum.
[[nodiscard]] std::size_t sum_of_sizes(std::size_t size, std::size_t more);
// Throws OutOfMemoryError for more than this machine has.
void require_machine_memory(std::size_t size);
// Throws UsageError unless there are slots for replies, and 2^24 at most.
void require_reply_slots(std::uint64_t slots);
// The same for threads that send, at most as many as a machine can have.
void require_senders(std::uint64_t senders);
// The same for a ring of so many slots, each stripe of which has so many.
void require_stripe(std::uint32_t stripe, std::uint32_t capacity);

CARILLON_WITH_CALL(require_addressable)
CARILLON_WITH_CALL(require_machine_memory)

}  // namespace carillon::detail

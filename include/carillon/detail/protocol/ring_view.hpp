// SPDX-License-Identifier: Apache-2.0
// One side's view of a ring, and what its producer may say of a message.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

// One side's view of a ring: the addresses as that side sees them. Trivially copyable.
struct RingView {
    Line* slots;
    std::uint64_t* credit;
    std::uint32_t capacity;        // a power of two
    Sequence first;                // the sequence number of the first message: 1 in zeroed memory
    std::uint32_t slot_lines = 1;  // lines of a slot, a power of two: slot_lines_of the messages

    // The first line of the slot of a message.
    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence) const {
        return slots + ((sequence - 1) & (capacity - 1)) * slot_lines;
    }
};

// What an end looks at for every message: where its slot is.
struct RingSlots {
    Line* slots;
    std::uint32_t capacity;
    std::uint32_t slot_lines;

    CARILLON_HD explicit RingSlots(RingView const& view)
        : slots(view.slots), capacity(view.capacity), slot_lines(view.slot_lines) {}
    // As RingView::slot.
    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence) const {
        return slots + ((sequence - 1) & (capacity - 1)) * slot_lines;
    }
};

// Makes `view` an empty ring whose first message is view.first, whatever the memory held before.
// Only for memory that nobody else is using yet; a slot gets the tag of the lap before.
inline void format_ring(RingView const& view) {
    for (Sequence s = view.first; s != view.first + view.capacity; ++s) {
        for (std::uint32_t i = 0; i < view.slot_lines; ++i) {
            view.slot(s)[i] = with_tag(Line{}, tag_of(s - view.capacity));
        }
    }
    *view.credit = view.first - 1;
}

// Data that the message refers to and that the producer wrote outside the line (invariant 6).
enum class OutOfLine : bool { none, written };

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// One side's view of an MpmcRing, for its ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// One side's addresses of the ring. Trivially copyable.
struct MpmcRingView {
    Line* base;
    std::uint64_t* given_up;     // for each slot: the sequence number that will not be written
    std::uint64_t* taken;        // the last sequence number that a consumer has claimed
    std::uint64_t* left;         // data of consumers that have ended
    std::uint64_t* claimed;      // the last sequence number that a producer has claimed
    std::uint64_t* credits;      // for each stripe: the last sequence number taken
    std::uint32_t capacity;      // a power of two, at least two stripes
    std::uint32_t stripe_shift;  // a stripe is 2^stripe_shift slots
    Sequence first;              // the first sequence number; first - 1 is a multiple of a stripe
    MessageShape shape{};        // of its messages

    [[nodiscard]] CARILLON_HD std::uint32_t index(Sequence sequence) const {
        return static_cast<std::uint32_t>(sequence - 1) & (capacity - 1);
    }
    // The first line of the slot of a message.
    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence) const {
        return base + std::size_t{index(sequence)} * shape.slot_lines;
    }
    [[nodiscard]] CARILLON_HD std::uint32_t stripe() const { return 1U << stripe_shift; }
    [[nodiscard]] CARILLON_HD std::uint64_t* credit(Sequence sequence) const {
        return credits + (index(sequence) >> stripe_shift);
    }
    [[nodiscard]] CARILLON_HD std::uint32_t stripes() const { return capacity >> stripe_shift; }
    [[nodiscard]] CARILLON_HD Sequence stripe_end(Sequence sequence) const {
        return ((sequence - 1) | (stripe() - 1)) + 1;
    }
    // The parts of `left`: the number of words; the number of left stripes; the first sequence
    // number of each in one of stripes() words, which are otherwise 0; and for each slot the last
    // number taken by a consumer that left its stripe.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t left_words(std::uint32_t capacity,
                                                                      std::uint32_t stripe) {
        return std::size_t{1} + capacity / stripe + capacity;
    }
    [[nodiscard]] CARILLON_HD std::uint64_t* left_count() const { return left; }
    [[nodiscard]] CARILLON_HD std::uint64_t* left_stripe(std::uint32_t i) const {
        return left + 1 + i;
    }
    [[nodiscard]] CARILLON_HD std::uint64_t* left_slot(Sequence sequence) const {
        return left + 1 + stripes() + index(sequence);
    }
};

// Makes `view` an empty ring whose first line is view.first. Only for unused memory.
inline void format_ring(MpmcRingView const& view) {
    for (std::uint32_t i = 0; i < view.capacity; ++i) {
        Sequence const sequence = view.first + i;
        for (std::uint32_t line = 0; line < view.shape.slot_lines; ++line) {
            view.slot(sequence)[line] = with_tag(Line{}, tag_of(sequence - view.capacity));
        }
        view.given_up[i] = 0;
        *view.credit(sequence) = view.first - 1;
    }
    for (std::size_t i = 0; i < MpmcRingView::left_words(view.capacity, view.stripe()); ++i) {
        view.left[i] = 0;
    }
    *view.claimed = view.first - 1;
    *view.taken = view.first - 1;
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Recovery of the numbers that a producer of an MPMC ring (mpmc_ring_protocol.hpp) had claimed when
// it died.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/claim.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Whether the message with this number, claimed by a dead producer, was written whole: it, or one
// of a later lap, is there. Ask before the number is given up. Reads far memory.
template <NearAccess Near>
[[nodiscard]] bool was_written(MpmcRingView const& view, Sequence number, Near near) {
    std::size_t left = view.shape.quads;
    for (Line const* line = view.slot(number); left != 0; ++line) {
        std::size_t const quads = left < quads_per_line ? left : quads_per_line;
        Line const found = near.load_line(line, quads);
        for (std::size_t i = 0; i < quads; ++i) {
            if (static_cast<std::int32_t>(found.quads[i].tag() - tag_of(number)) < 0) return false;
        }
        left -= quads;
    }
    return true;
}

// Gives up the numbers of a claim whose lines could not be written: consumers skip them. A consumer
// that still finds a line there takes it.
// S5, pairs with S4.
template <FarAccess Far>
void give_up_claim(MpmcRingView const& view, Sequence begin, Sequence end, Far const& far) {
    far.release();
    for (Sequence s = begin; s != end; ++s) far.store_word(view.given_up + view.index(s), s);
    far.commit(view.given_up, view.capacity * sizeof(*view.given_up));
}

// Gives up all numbers that no living producer holds: consumers skip them. One thread at a time
// calls it after a producer has died. `record(i)` is the record of living producer i, or nullptr if
// there is none, for i < records. Returns false if a living producer is just claiming: call it
// again.
template <FarAccess Far, NearAccess Near, class Records>
bool give_up_claims(MpmcRingView const& view, std::size_t records, Records&& record, Far far,
                    Near near, Claim* held) {
    // S8, pairs with S7: the last claim is loaded before the records, so that the producer of an
    // earlier claim is found claiming, or with its numbers.
    Sequence const last = near.load_word(view.claimed);
    std::size_t holders = 0;
    for (std::size_t i = 0; i < records; ++i) {
        ProducerRecord const* const living = record(i);
        if (living == nullptr) continue;
        Sequence const begin = near.load_word(&living->begin);
        if (begin == ProducerRecord::claiming) return false;
        if (begin == ProducerRecord::none) continue;
        Sequence const end = near.load_word(&living->end);
        // Otherwise that claim is written, and the next one is beyond `last`.
        if (near.load_word(&living->begin) == begin) {
            held[holders++] = {begin, static_cast<std::uint32_t>(end - begin)};
        }
    }
    auto const is_held = [&](Sequence sequence) {
        for (std::size_t i = 0; i < holders; ++i) {
            if (sequence - held[i].first < held[i].count) return true;
        }
        return false;
    };
    // S5, pairs with S4: lines of living producers have arrived before any number is given up;
    // otherwise a line could be skipped that is there.
    far.release();
    Sequence const lap_before = last < view.capacity ? 0 : last - view.capacity;
    for (Sequence s = lap_before < view.first ? view.first : lap_before + 1; s <= last; ++s) {
        bool const taken = near.load_word(view.credit(s)) >= view.stripe_end(s);
        if (!taken && !is_held(s)) far.store_word(view.given_up + view.index(s), s);
    }
    far.commit(view.given_up, view.capacity * sizeof(*view.given_up));
    return true;
}

}  // namespace carillon::detail

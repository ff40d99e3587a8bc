// SPDX-License-Identifier: Apache-2.0
// How a consumer of an MPMC ring (mpmc_ring_protocol.hpp) that ends leaves the rest of its stripe
// to the next one. All of this lies in the consumers' memory.
//
//   leaver:  marks the slots whose messages it has taken; then announces the stripe as left
//   another: claims the stripe, takes the messages that are not marked, and returns the credit
//
// A consumer looks for left stripes when it begins, and after a while without messages: producers
// may wait for the credit of a stripe that nobody takes. It then leaves its own stripe, and claims
// the first one that is left.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// Marks a taken message of a stripe that is about to be left. Nobody else changes the word
// meanwhile. Orders nothing: leave_stripe() does (S9).
template <ClaimAccess Near>
CARILLON_HD void mark_taken(MpmcRingView const& view, Near near, Sequence sequence) {
    std::uint64_t* const word = view.left_slot(sequence);
    std::uint64_t seen = near.load_word(word);  // may be old
    std::uint64_t expected = 0;
    do {
        expected = seen;
        seen = near.compare_exchange(word, expected, sequence);
    } while (seen != expected);
}
// Whether a message of a left stripe was marked. Called after the stripe's claim (S9).
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD bool is_marked(MpmcRingView const& view, Near near, Sequence sequence) {
    return near.load_word(view.left_slot(sequence)) == sequence;
}

// Leaves the stripe that begins with `begin`. One thread calls it, after all marks.
// S9, pairs with S9: the marks, and the loads that found the messages, come before the word; else
// the next consumer could take a message again, or return credit under these loads.
template <ClaimAccess Near, FarAccess Far>
CARILLON_HD void leave_stripe(MpmcRingView const& view, Near near, Far far, Sequence begin) {
    far.release();
    // One of the words is 0: there is one for each consumer that may hold a stripe.
    std::uint32_t i = 0;
    while (i < view.stripes() && near.compare_exchange(view.left_stripe(i), 0, begin) != 0) ++i;
    (void)near.fetch_add(view.left_count(), 1);
}

// Finds the word of the first left stripe that begins before `first`, and sets `first` to its first
// number; nullptr if there is none. The result may be old: the claim (S9) decides.
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD std::uint64_t* find_left(MpmcRingView const& view, Near near,
                                                   Sequence& first) {
    std::uint64_t* where = nullptr;
    for (std::uint32_t i = 0; i < view.stripes(); ++i) {
        Sequence const begin = near.load_word(view.left_stripe(i));
        if (begin == 0 || begin >= first) continue;
        first = begin;
        where = view.left_stripe(i);
    }
    return where;
}

// Whether a left stripe begins before `own`: a hint that orders nothing (S9).
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD bool is_left_before(MpmcRingView const& view, Near near, Sequence own) {
    return near.load_word(view.left_count()) != 0 && find_left(view, near, own) != nullptr;
}

// Claims the first stripe that is left and returns its first number, or 0 if there is none. One
// thread calls it, which holds no stripe: so there are at most as many left as consumers, or words.
// S9, pairs with S9: the load of the word is an acquire.
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD Sequence claim_left(MpmcRingView const& view, Near near) {
    while (near.load_word(view.left_count()) != 0) {
        Sequence first = ~Sequence{0};
        std::uint64_t* const where = find_left(view, near, first);
        if (where == nullptr) return 0;
        if (near.compare_exchange(where, first, 0) != first) continue;  // another was faster
        (void)near.fetch_add(view.left_count(), ~std::uint64_t{0});
        return first;
    }
    return 0;
}

// Leaves the stripe that begins with `begin`, for a dead consumer of one thread. `next` is the
// number of the first message that it had not taken, perhaps the next stripe's first.
template <ClaimAccess Near, FarAccess Far>
void leave_for_the_dead(MpmcRingView const& view, Near near, Far far, Sequence begin,
                        Sequence next) {
    for (Sequence s = begin; s != next; ++s) mark_taken(view, near, s);
    leave_stripe(view, near, far, begin);
}

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

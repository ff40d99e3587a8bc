// SPDX-License-Identifier: Apache-2.0
// How a consumer of an MPMC ring (mpmc_ring.hpp) that ends leaves the rest of its stripe to the
// next one. All of it lies in the consumers' memory.
//
//   leaver:  marks the slots whose messages it has taken; then tells that the stripe is left
//   another: claims the stripe, takes the messages that are not marked, and returns the credit
//
// A consumer looks for stripes that are left when it begins, and when it has found no message for a
// while: producers may be waiting for the credit of a stripe that nobody takes. Then it leaves its
// own stripe, and claims the first that is left.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Marks a message that was taken, of a stripe that is about to be left. Nobody else changes the
// word meanwhile. Orders nothing: leave_stripe() does (S9).
CARILLON_POLICY_CODE
template <ClaimAccess Near>
CARILLON_HD void mark_taken(MpmcRingView const& view, Near near, Sequence sequence) {
    std::uint64_t* const word = view.left_slot(sequence);
    std::uint64_t seen = near.load_word(word);  // which may be old
    std::uint64_t expected = 0;
    do {
        expected = seen;
        seen = near.compare_exchange(word, expected, sequence);
    } while (seen != expected);
}
// Whether a message of a stripe that was left was marked; behind its claim (S9).
CARILLON_POLICY_CODE
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD bool is_marked(MpmcRingView const& view, Near near, Sequence sequence) {
    return near.load_word(view.left_slot(sequence)) == sequence;
}

// Leaves the stripe that begins with `begin`. By one thread, after all marks.
// S9, pairs with S9: the marks, and the loads that found the messages, come before the word; else
// the next consumer could take a message again, or return credit for a slot under these loads.
CARILLON_POLICY_CODE
template <ClaimAccess Near, FarAccess Far>
CARILLON_HD void leave_stripe(MpmcRingView const& view, Near near, Far far, Sequence begin) {
    far.release();
    // One of the words is 0: there is one for each consumer that may hold a stripe.
    std::uint32_t i = 0;
    while (i < view.stripes() && near.compare_exchange(view.left_stripe(i), 0, begin) != 0) ++i;
    (void)near.fetch_add(view.left_count(), 1);
}

// The word of the first stripe that is left and begins before `first`, which becomes its first
// number; nullptr where there is none. What it finds may be old: the claim (S9) tells.
CARILLON_POLICY_CODE
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

// Whether a stripe is left that begins before `own`: a hint, that orders nothing (S9).
CARILLON_POLICY_CODE
template <ClaimAccess Near>
[[nodiscard]] CARILLON_HD bool is_left_before(MpmcRingView const& view, Near near, Sequence own) {
    return near.load_word(view.left_count()) != 0 && find_left(view, near, own) != nullptr;
}

// Claims the first stripe that is left: its first number; 0 where there is none. By one thread,
// which holds no stripe: so no more are left than there are consumers, or words.
// S9, pairs with S9: the load of the word is an acquire.
CARILLON_POLICY_CODE
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

// Leaves the stripe that begins with `begin`, of a consumer of one thread that has died: `next` is
// the number of the first message there that it had not taken, or of the next stripe's first.
template <ClaimAccess Near, FarAccess Far>
void leave_for_the_dead(MpmcRingView const& view, Near near, Far far, Sequence begin,
                        Sequence next) {
    for (Sequence s = begin; s != next; ++s) mark_taken(view, near, s);
    leave_stripe(view, near, far, begin);
}

}  // namespace carillon::detail

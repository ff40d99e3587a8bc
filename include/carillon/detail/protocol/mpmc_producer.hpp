// SPDX-License-Identifier: Apache-2.0
// The ends of an MPMC ring (mpmc_ring_protocol.hpp) that write lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/claim.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/messages.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// One thread's end that writes lines. Any number of threads have one each.
template <class T, FarAccess Far, ClaimAccess Near, RecordsThrough<Near> Record = NoRecord>
class MpmcProducer {
   public:
    CARILLON_HD explicit MpmcProducer(MpmcRingView const& view, Far far = Far(), Near near = Near(),
                                      Record record = Record())
        : view_(view), claimer_(view, near, record), far_(far) {
        check_payload<T>();
    }

    // Publishes one message and returns true, or returns false at once when there is no room.
    CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return try_push_n(&message, 1, data) == 1;
    }

    // Publishes the first ones of `count` messages, as many as there is room for, in a row, with
    // one claim and one fence; returns how many.
    CARILLON_HD std::size_t try_push_n(T const* messages, std::size_t count,
                                       OutOfLine data = OutOfLine::none) {
        std::uint32_t const most =
            count < view_.capacity ? static_cast<std::uint32_t>(count) : view_.capacity;
        Claim const claim = claimer_.try_claim(1, most);
        if (claim.count == 0) return 0;
        if (data == OutOfLine::written) far_.release();  // S1, pairs with S4
        std::uint32_t const before_wrap = view_.capacity - view_.index(claim.first);
        std::uint32_t const first = claim.count < before_wrap ? claim.count : before_wrap;
        store(claim.first, messages, first);
        store(claim.first + first, messages + first, claim.count - first);
        // S6, through H2: the lines leave before the claim counts as written; otherwise one of them
        // could linger, and all behind it would wait.
        constexpr std::size_t slot_bytes = slot_lines_of<T> * sizeof(Line);
        far_.commit(view_.slot(claim.first), first * slot_bytes);
        if (claim.count != first) far_.commit(view_.base, (claim.count - first) * slot_bytes);
        claimer_.done();
        return claim.count;
    }

    // Reads what a push reads, so that it is near, without claiming or storing.
    CARILLON_HD void warm() {
        Sequence const next = claimer_.look();
        if constexpr (requires { far_.warm(view_.slot(next)); }) far_.warm(view_.slot(next));
    }

   private:
    CARILLON_HD void store(Sequence sequence, T const* messages, std::uint32_t count) {
        detail::store_messages(far_, view_.slot(sequence), view_.shape.slot_lines, messages, count,
                               tag_of(sequence), tag_of(sequence - view_.capacity));
    }

    MpmcRingView view_;
    Claimer<Near, Record> claimer_;
    Far far_;
};

// The end of a warp's lanes that write lines together, one message for each lane. Every lane calls
// every member function.
template <class T, FarAccess Far, ClaimAccess Near, VotingGroup Lanes>
class LanesProducer {
   public:
    CARILLON_HD explicit LanesProducer(MpmcRingView const& view, Far far = Far(),
                                       Near near = Near(), Lanes lanes = Lanes())
        : view_(view), claimer_(view, near, NoRecord()), far_(far), lanes_(lanes) {
        check_payload<T>();
    }

    // Publishes the messages of the lanes that have one, or none if there is no room for all.
    // Returns to every lane whether it did.
    CARILLON_HD bool try_push(T const& message, bool has_one = true,
                              OutOfLine data = OutOfLine::none) {
        std::uint32_t const count = lanes_.count(has_one);
        if (count == 0) return true;
        Claim claim{};
        if (is_leader(lanes_)) claim = claimer_.try_claim(count, count);
        Sequence const first = lanes_.broadcast(claim.first);
        if (first == 0) return false;
        Sequence const sequence = first + lanes_.count_before(has_one);
        if (has_one) {
            // S1, pairs with S4
            if (data == OutOfLine::written) far_.release();
            store(message, sequence);
        }
        return true;
    }

    // Publishes `count` messages of every lane with one claim: claims come one after the other, so
    // larger ones are faster. Message i of all lanes comes before message i + 1 of any.
    template <std::size_t count>
    CARILLON_HD bool try_push_all(T const (&messages)[count], OutOfLine data = OutOfLine::none) {
        auto const all = static_cast<std::uint32_t>(count) * lanes_.size();
        Claim claim{};
        if (is_leader(lanes_)) claim = claimer_.try_claim(all, all);
        Sequence const first = lanes_.broadcast(claim.first);
        if (first == 0) return false;
        // S1, pairs with S4
        if (data == OutOfLine::written) far_.release();
        for (std::size_t i = 0; i < count; ++i) {
            store(messages[i], first + i * lanes_.size() + lanes_.thread_rank());
        }
        return true;
    }

   private:
    CARILLON_HD void store(T const& message, Sequence sequence) {
        Line* const slot = view_.slot(sequence);
        detail::store_message<T>(far_, slot, pack(message, tag_of(sequence)),
                                 tag_of(sequence - view_.capacity));
        far_.commit(slot, sizeof(Packed<T>));  // S6
    }

    MpmcRingView view_;
    Claimer<Near, NoRecord> claimer_;
    Far far_;
    Lanes lanes_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

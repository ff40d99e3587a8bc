// SPDX-License-Identifier: Apache-2.0
// Slots for replies in any order, for HostService and pools: lines for each outstanding call, in
// the memory of the calling side. Callers claim slots, the other side writes them; a request names
// its slot.
//
// Ownership in one sentence: a slot belongs to the caller that made its word odd until that makes
// it even again; its lines belong to the answering side from the request that names it until all of
// the reply's tags are in them.
//
// The calls at a slot are numbered, from 1 in zeroed memory. Call n takes the word from 2n - 2 to
// 2n - 1; its request names slot and number; its reply has the number's low half as a tag. When the
// caller has the reply, or stops waiting, the word goes on to 2n. A slot is free when its word is
// even, 2n, and reply n is in its lines. So after a caller gave up, the slot is taken again only
// when the late reply has come: there is never more than one outstanding reply to a line. A late
// reply has another tag than the one that the next caller polls for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The place for the reply to a request.
struct ReplyAddress {
    static constexpr std::uint32_t nowhere = 0xffffffff;  // nobody waits for one

    std::uint32_t slot;
    Tag number;
};

template <class Request>
struct AddressedRequest {
    ReplyAddress reply_to;
    Request value;

    CARILLON_HD static constexpr void check_payload() {
        static_assert(std::is_trivially_copyable_v<Request>,
                      "carillon: a request must be trivially copyable: its bytes cross a bus");
        static_assert(sizeof(Request) <= message_bytes,
                      "carillon: a request must be at most 1024 bytes: keep the rest in memory "
                      "that it points to (OutOfLine)");
    }
};

// One side's view of the slots for replies. Trivially copyable.
struct ReplySlots {
    Line* lines;
    std::uint64_t* words;  // for each slot: twice its ended calls, plus 1 during a call
    std::uint64_t* next;   // where the next thread begins to look at its first call
    std::uint32_t count;
    MessageShape shape{};  // of the replies

    [[nodiscard]] CARILLON_HD Line* line(std::uint32_t slot) const {
        return lines + std::size_t{slot} * shape.slot_lines;
    }
};

// Whether all quads of the reply with this number are in the slot.
template <NearAccess Near>
[[nodiscard]] CARILLON_HD bool has_reply(ReplySlots const& reply_slots, std::uint32_t slot,
                                         Tag number, Near const& near) {
    bool arrived = true;
    Line const* line = reply_slots.line(slot);
    for (std::size_t left = reply_slots.shape.quads; left != 0; ++line) {
        std::size_t const quads = left < quads_per_line ? left : quads_per_line;
        arrived &= has_arrived(near.load_line(line, quads), number, quads);
        left -= quads;
    }
    return arrived;
}

// Makes `slots` free; their first calls have number `first`. Only for unused memory.
inline void format_reply_slots(ReplySlots const& reply_slots, Sequence first) {
    for (std::uint32_t i = 0; i < reply_slots.count; ++i) {
        for (std::uint32_t line = 0; line < reply_slots.shape.slot_lines; ++line) {
            reply_slots.line(i)[line] = with_tag(Line{}, tag_of(first - 1));
        }
        reply_slots.words[i] = 2 * (first - 1);
    }
    *reply_slots.next = 0;
}

// A caller's claim on one slot at a time. `revocable`: when the caller counts as dead, others leave
// the slot for it (leave_for_the_dead), and its later actions there change nothing.
template <ClaimAccess Near, bool revocable = false>
class ReplySlotClaim {
   public:
    CARILLON_HD explicit ReplySlotClaim(ReplySlots const& reply_slots, Near near = Near())
        : slots_(reply_slots), near_(near) {}
    // For a caller with slots of its own, including `own`: try_claim_own().
    CARILLON_HD ReplySlotClaim(ReplySlots const& reply_slots, std::uint32_t own, Near near = Near())
        : slots_(reply_slots), slot_(own), near_(near) {}

    // Takes a free slot and returns true, or returns false at once if there is none. Taking the
    // caller's previous slot costs one access.
    [[nodiscard]] CARILLON_HD bool try_claim() {
        if (slot_ == ReplyAddress::nowhere) {
            slot_ = static_cast<std::uint32_t>(near_.fetch_add(slots_.next, 1) % slots_.count);
        }
        if (known_free_ && exchange()) return true;
        known_free_ = false;
        for (std::uint32_t probe = 0; probe < slots_.count; ++probe) {
            word_ = near_.load_word(word());
            if (is_free() && exchange()) return true;
            slot_ = slot_ + 1 == slots_.count ? 0 : slot_ + 1;
        }
        return false;
    }

    // Takes its own slot and returns true, or false while a late reply to it is outstanding.
    [[nodiscard]] CARILLON_HD bool try_claim_own() {
        if (known_free_ && exchange()) return true;
        known_free_ = false;
        word_ = near_.load_word(word());
        return is_free() && exchange();
    }

    [[nodiscard]] CARILLON_HD ReplyAddress address() const { return {slot_, number()}; }

    // A2, pairs with A1: the load is an acquire; otherwise data that the reply refers to could be
    // read ahead of it. Returns whether the reply is there.
    template <class Reply>
    [[nodiscard]] CARILLON_HD bool look(Packed<Reply>& reply) const {
        return detail::load_message<Reply>(near_, slots_.line(slot_), number(), reply);
    }

    // Reads everything that a claim and a look read.
    CARILLON_HD void warm() const {
        (void)near_.load_word(word());
        (void)near_.load_word(&slots_.line(slot_)->quads[0].low);
    }

    // Call one of the three to end the claim. give_back(): the reply was taken. give_up(): nobody
    // waits for it any more. take_back(): the request was not sent, so there was no call.
    CARILLON_HD void give_back() { leave(1, true); }
    CARILLON_HD void give_up() { leave(1, false); }
    CARILLON_HD void take_back() { leave(~std::uint64_t{0}, true); }

   private:
    [[nodiscard]] CARILLON_HD std::uint64_t* word() const { return slots_.words + slot_; }
    [[nodiscard]] CARILLON_HD Tag number() const { return tag_of((word_ + 1) / 2); }

    // Needs no order but A3's. Whether the slot has no caller and no outstanding reply. It does not
    // read the line's payload: if another caller claims the slot meanwhile, and the host writes it,
    // the exchange fails.
    [[nodiscard]] CARILLON_HD bool is_free() const {
        if ((word_ & 1) != 0) return false;
        return has_reply(slots_, slot_, tag_of(word_ / 2), near_);
    }
    [[nodiscard]] CARILLON_HD bool exchange() {
        if (near_.compare_exchange(word(), word_, word_ + 1) != word_) return false;
        ++word_;
        return true;
    }

    // A3, pairs with A1 of the call after: it comes after the loads that found the reply's tags, on
    // which it depends. Otherwise a caller could still look at the line while the next caller's
    // reply is written into it.
    CARILLON_HD void leave(std::uint64_t step, bool known_free) {
        known_free_ = known_free;
        if constexpr (revocable) {
            known_free_ &= near_.compare_exchange(word(), word_, word_ + step) == word_;
        } else {
            (void)near_.fetch_add(word(), step);
        }
        word_ += step;
    }

    ReplySlots slots_;
    std::uint32_t slot_ = ReplyAddress::nowhere;
    bool known_free_ = false;  // when it was left, reply and word were of the same call
    std::uint64_t word_ = 0;   // the slot's word, as this caller last knew it
    Near near_;
};

// Leaves a slot for its dead caller. `sent` says whether the request of its call, if any, was sent,
// so that a reply will come.
template <ClaimAccess Near>
void leave_for_the_dead(ReplySlots const& reply_slots, std::uint32_t slot, bool sent, Near near) {
    std::uint64_t* const word = reply_slots.words + slot;
    std::uint64_t const found = near.load_word(word);
    if ((found & 1) == 0) return;
    (void)near.compare_exchange(word, found, sent ? found + 1 : found - 1);
}

// The end that answers, in any order.
template <FarAccess Far>
class ReplyWriter {
   public:
    CARILLON_HD explicit ReplyWriter(ReplySlots const& reply_slots, Far far = Far())
        : slots_(reply_slots), far_(far) {}

    // A1, pairs with A2: data that the reply refers to are complete before it, if `data` says so;
    // otherwise the caller could find them old. The line leaves now (H2), since its caller waits.
    // The slot's previous line is of the call before.
    template <class Reply>
    CARILLON_HD void answer(ReplyAddress to, Reply const& reply,
                            OutOfLine data = OutOfLine::none) const {
        if (to.slot >= slots_.count) return;  // nobody waits
        if (data == OutOfLine::written) far_.release();
        Line* const line = slots_.line(to.slot);
        detail::store_message<Reply>(far_, line, pack(reply, to.number), to.number - 1);
        far_.commit(line, sizeof(Packed<Reply>));
    }

   private:
    ReplySlots slots_;
    Far far_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

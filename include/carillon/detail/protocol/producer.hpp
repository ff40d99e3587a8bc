// SPDX-License-Identifier: Apache-2.0
// The producer's end of a ring (ring.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/messages.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/protocol/tail_doorbell.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

// The end that writes lines. Far: how it touches the slots; Near: how it touches the credit word.
// What can be known before the message is worked out ahead: between message and publish there is
// little but the store.
//
// On memory that is not coherent a flush may throw. A number is spent once its line has been stored
// with its tags, before the flush: no other message is put under tags that may have arrived. So
// after an exception what has a number below next() counts as sent, and leaves with the next flush
// of that memory at the latest; what has not was not sent, and may be pushed again.
template <class T, FarAccess Far, WordAccess Near, DoorbellThrough<Far> Ringer = NoDoorbell>
class Producer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD explicit Producer(RingView const& view, Far far = Far(), Near near = Near(),
                                  Ringer doorbell = Ringer())
        : view_(view),
          next_(view.first),
          slot_(view.slot(view.first)),
          room_(view.capacity),
          far_(far),
          near_(near),
          doorbell_(doorbell) {
        check_payload<T>();
    }

    // Publishes one message and returns true, or returns false at once when the ring is full.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        if (was_full()) [[unlikely]]
            return false;
        publish(pack(message, tag_of(next_)), data);
        return true;
    }

    // The same, but the line leaves this side when the caller commits it, through the far policy:
    // one commit for lines of several rings. So it is for a producer without a doorbell.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_push_uncommitted(
        T const& message,
        OutOfLine data = OutOfLine::none) requires std::same_as<Ringer, NoDoorbell> {
        if (was_full()) [[unlikely]]
            return false;
        (void)store(pack(message, tag_of(next_)), data);
        look_now_and_then();
        return true;
    }

    // Publishes as many of the `count` messages as there is room for, the first ones, and returns
    // how many: with one fence for all of them, two where they go on at the first slot. `data` is
    // for what any of them refers to.
    CARILLON_POLICY_CODE
    CARILLON_HD std::size_t try_push_n(T const* messages, std::size_t count,
                                       OutOfLine data = OutOfLine::none) {
        if (count > room_) look_at_credit();
        std::size_t const fit = count < room_ ? count : room_;
        if (fit == 0) return 0;
        if (data == OutOfLine::written) far_.release();  // P1
        auto const before_wrap = static_cast<std::size_t>(view_.slots + view_.capacity - slot_);
        std::size_t const first = fit < before_wrap ? fit : before_wrap;
        publish_row(messages, first);
        if (fit != first) publish_row(messages + first, fit - first);
        return fit;
    }

    // The same for a message that is packed already, whatever its tags.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_put(Line const& message, OutOfLine data = OutOfLine::none) {
        if (was_full()) [[unlikely]]
            return false;
        publish(with_tag(message, tag_of(next_)), data);
        return true;
    }

    // True when no slot was free just now.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool was_full() {
        if (room_ != 0) return false;
        look_at_credit();
        return room_ == 0;
    }

    // The sequence number that the next message will get.
    [[nodiscard]] CARILLON_HD Sequence next() const { return next_; }
    [[nodiscard]] CARILLON_HD std::uint32_t capacity() const { return view_.capacity; }

   private:
    CARILLON_POLICY_CODE
    CARILLON_HD void publish(Line const& line, OutOfLine data) {
        Line* const stored = store(line, data);
        // P2, through H2: the line leaves this side now, not when a write-combining buffer happens
        // to be evicted. No order between quads is needed: each carries its tag.
        far_.commit(stored, sizeof(Line));
        doorbell_.commit(far_);
        look_now_and_then();
    }

    // Returns the slot.
    CARILLON_POLICY_CODE
    CARILLON_HD Line* store(Line const& line, OutOfLine data) {
        // P1, pairs with C1: what the message refers to is complete before the line that names it.
        if (data == OutOfLine::written) far_.release();
        far_.store_line(slot_, line, tag_of(next_ - view_.capacity));
        doorbell_.store(far_, next_);
        Line* const stored = slot_;
        advance(1);
        return stored;
    }

    // The credit is looked at four times a lap, after a publish, where nobody waits for it.
    CARILLON_POLICY_CODE
    CARILLON_HD void look_now_and_then() {
        if ((tag_of(next_) & (view_.capacity / 4 - 1)) == 0) look_at_credit();
    }

    // `count` messages to as many slots in a row.
    CARILLON_POLICY_CODE
    CARILLON_HD void publish_row(T const* messages, std::size_t count) {
        detail::store_messages(far_, slot_, messages, count, tag_of(next_),
                               tag_of(next_ - view_.capacity));
        Line* const stored = slot_;
        advance(count);
        doorbell_.store(far_, next_ - 1);
        far_.commit(stored, count * sizeof(Line));  // P2
        doorbell_.commit(far_);
    }

    CARILLON_HD void advance(std::size_t count) {
        next_ += count;
        room_ -= static_cast<std::uint32_t>(count);
        slot_ = view_.slot(next_);
    }

    // P3, pairs with C2: the slot's last line was taken before it is written again; without it a
    // line is lost. A consumer that is wrong may write any credit there: it has lines overwritten,
    // but never more than there are.
    CARILLON_POLICY_CODE
    CARILLON_HD void look_at_credit() {
        Sequence const taken = near_.load_word(view_.credit);
        auto const outstanding = static_cast<std::int64_t>(next_ - 1 - taken);
        room_ = outstanding < 0 ? view_.capacity
                : outstanding > view_.capacity
                    ? 0
                    : view_.capacity - static_cast<std::uint32_t>(outstanding);
    }

    RingView view_;
    Sequence next_;
    Line* slot_;          // of line next_
    std::uint32_t room_;  // slots known to be free
    Far far_;
    Near near_;
    Ringer doorbell_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The protocol: one producer hands lines to one consumer through a ring of slots.
//
// Ownership in one sentence: a slot belongs to the producer until the line's four tags are in it,
// to the consumer until the credit word has reached that line's sequence number, and then to the
// producer again.
//
//     memory of the consumer's side              memory of the producer's side
//     +--------+--------+-- ... --+--------+     +--------------------------------+
//     | slot 0 | slot 1 |         | slot n |     | credit: last sequence taken    |
//     +--------+--------+-- ... --+--------+     +--------------------------------+
//       written far, polled near                   written far, polled near
//
// Line s lives in slot (s - 1) mod capacity. Neither side loads from far memory (invariant 1).
// How memory is touched is an access policy (detail/access/access.hpp); there is no fence,
// intrinsic or PTX in this file. Zeroed memory is an empty ring.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

// One side's view of a ring: the addresses as that side sees them. Trivially copyable.
struct RingView {
    Line* slots;
    std::uint64_t* credit;
    std::uint32_t capacity;  // a power of two
    Sequence first;          // the sequence number of the first line: 1 in zeroed memory

    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence) const {
        return slots + ((sequence - 1) & (capacity - 1));
    }
};

// Makes `view` an empty ring whose first line is view.first, whatever the memory held before.
// Only for memory that nobody else is using yet; a slot gets the tag of the lap before.
inline void format_ring(RingView const& view) {
    for (Sequence s = view.first; s != view.first + view.capacity; ++s) {
        *view.slot(s) = with_tag(Line{}, tag_of(s - view.capacity));
    }
    *view.credit = view.first - 1;
}

// Data that the message refers to and that the producer wrote outside the line (invariant 6).
enum class OutOfLine : bool { none, written };

namespace detail {

// Stores `count` messages as lines in a row, the first with tag `first`; `previous` is the tag
// that the first slot holds until now. Payloads that fill a line go as they lie in memory.
CARILLON_POLICY_CODE
template <class T, FarAccess Far>
CARILLON_HD void store_messages(Far const& far, Line* to, T const* messages, std::size_t count,
                                Tag first, Tag previous) {
    if (count == 0) return;  // the part behind the wrap, mostly
    if constexpr (sizeof(T) == payload_bytes) {
        far.store_payloads(to, messages, count, first, previous);
    } else {
        constexpr std::size_t most = 16;
        PayloadWords payloads[most]{};
        for (std::size_t done = 0; done < count;) {
            std::size_t const now = count - done < most ? count - done : most;
            for (std::size_t i = 0; i < now; ++i) {
                std::memcpy(&payloads[i], &messages[done + i], sizeof(T));
            }
            auto const tags = static_cast<Tag>(done);
            far.store_payloads(to + done, payloads, now, first + tags, previous + tags);
            done += now;
        }
    }
}

}  // namespace detail

// What a producer tells beside the lines, through its own far policy: stored after a line, left to
// leave after the line has.
template <class B, class Far>
concept RingsThrough = std::copyable<B> && requires(B const& bell, Far const& far, Sequence last) {
    bell.store(far, last);
    bell.commit(far);
};

// A producer without a bell: whoever consumes looks at the ring itself.
class NoBell {
   public:
    template <FarAccess Far>
    CARILLON_HD void store(Far const& /*far*/, Sequence /*published*/) const {}
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& /*far*/) const {}
};

// A word beside those of other rings, in the memory of the consumer's side, that tells the last
// sequence number published: one look at many of them finds the rings that have news. No order is
// needed between line and bell: who hears it polls the ring until the line is there.
class Bell {
   public:
    // nullptr: none is rung, as with NoBell, where that is known only at run time.
    CARILLON_HD explicit Bell(std::uint64_t* word = nullptr) : word_(word) {}

    CARILLON_POLICY_CODE
    template <FarAccess Far>
    CARILLON_HD void store(Far const& far, Sequence published) const {
        if (word_ != nullptr) far.store_word(word_, published);
    }
    // B1, beside P2: without it the bell may linger, and nobody looks at the line.
    CARILLON_POLICY_CODE
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& far) const {
        if (word_ != nullptr) far.commit(word_, sizeof(*word_));
    }

   private:
    std::uint64_t* word_;
};

// The end that writes lines. Far: how it touches the slots; Near: how it touches the credit word.
// What can be known before the message is worked out ahead: between message and publish there is
// little but the store.
//
// On memory that is not coherent a flush may throw. A number is spent once its line has been stored
// with its tags, before the flush: no other message is put under tags that may have arrived. So
// after an exception what has a number below next() counts as sent, and leaves with the next flush
// of that memory at the latest; what has not was not sent, and may be pushed again.
template <class T, FarAccess Far, WordAccess Near, RingsThrough<Far> Ringer = NoBell>
class Producer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD explicit Producer(RingView const& view, Far far = Far(), Near near = Near(),
                                  Ringer bell = Ringer())
        : view_(view),
          next_(view.first),
          slot_(view.slot(view.first)),
          room_(view.capacity),
          far_(far),
          near_(near),
          bell_(bell) {
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
    // one commit for lines of several rings. So it is for a producer without a bell.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_push_uncommitted(
        T const& message, OutOfLine data = OutOfLine::none) requires std::same_as<Ringer, NoBell> {
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
        bell_.commit(far_);
        look_now_and_then();
    }

    // Returns the slot.
    CARILLON_POLICY_CODE
    CARILLON_HD Line* store(Line const& line, OutOfLine data) {
        // P1, pairs with C1: what the message refers to is complete before the line that names it.
        if (data == OutOfLine::written) far_.release();
        far_.store_line(slot_, line, tag_of(next_ - view_.capacity));
        bell_.store(far_, next_);
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
        bell_.store(far_, next_ - 1);
        far_.commit(stored, count * sizeof(Line));  // P2
        bell_.commit(far_);
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
    Ringer bell_;
};

// The end that takes lines. Near: how it touches the slots; Far: how it touches the credit word.
template <class T, NearAccess Near, FarAccess Far>
class Consumer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD explicit Consumer(RingView const& view, Near near = Near(), Far far = Far())
        : view_(view), next_(view.first), near_(near), far_(far) {
        check_payload<T>();
    }

    // Takes the next message into `message` and returns true, or returns false at once when it
    // has not wholly arrived.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_pop(T& message) {
        Line line;
        if (!try_take(line)) return false;
        message = unpack<T>(line);
        return true;
    }

    // The same for the line as it came, for types that cannot be default-constructed.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_take(Line& line) {
        return try_consume([&](Line const& taken) { line = taken; });
    }

    // The same, calling `use(line)` with it: nothing stands between arrival and use. A message
    // whose use throws is taken all the same: it is not delivered again.
    CARILLON_POLICY_CODE
    template <class Use>
    CARILLON_HD bool try_consume(Use&& use) {
        return try_consume_within(
            1, [] {}, use);
    }

    // The same, looking up to `polls` times and calling `in_vain()` whenever that found nothing:
    // between two looks is nothing else.
    CARILLON_POLICY_CODE
    template <class InVain, class Use>
    CARILLON_HD bool try_consume_within(std::uint32_t polls, InVain&& in_vain, Use&& use) {
        Line line;
        while (!look(line)) {
            in_vain();
            if (--polls == 0) return false;
        }
        Taking const taking{*this};
        use(line);
        return true;
    }

    // Takes as many of the next `count` messages as have arrived, in order, and returns how many.
    CARILLON_POLICY_CODE
    CARILLON_HD std::size_t try_pop_n(T* messages, std::size_t count) {
        std::size_t taken = 0;
        while (taken < count &&
               try_consume([&](Line const& line) { messages[taken] = unpack<T>(line); })) {
            ++taken;
        }
        return taken;
    }

    // Lines taken whose credit has not been returned, and its return ahead of time: for a consumer
    // that may not look again for a while.
    [[nodiscard]] CARILLON_HD std::uint32_t held() const { return held_; }
    CARILLON_POLICY_CODE
    CARILLON_HD void return_held() {
        if (held_ != 0) return_credit();
    }

    // The sequence number of the message that the next successful take will return.
    [[nodiscard]] CARILLON_HD Sequence next() const { return next_; }
    // The slot that its line will be in.
    [[nodiscard]] CARILLON_HD Line const* awaited() const { return view_.slot(next_); }
    [[nodiscard]] CARILLON_HD std::uint32_t capacity() const { return view_.capacity; }

   private:
    // Its end is where a line is taken, however its use ends: after it, where nobody waits.
    struct Taking {
        Consumer& consumer;

        CARILLON_HD ~Taking() {
            ++consumer.next_;
            ++consumer.held_;
        }
    };

    CARILLON_POLICY_CODE
    CARILLON_HD bool look(Line& line) {
        // A batch of credits goes back before the next look, not between arrival and use.
        if (held_ >= credit_batch()) return_credit();
        // C1, pairs with P1: the load is an acquire; without it what the line names could be read
        // before it is there.
        line = near_.load_line(view_.slot(next_));
        if (has_arrived(line, tag_of(next_))) return true;
        return_held();
        return false;
    }

    [[nodiscard]] CARILLON_HD std::uint32_t credit_batch() const {
        return view_.capacity < 4 ? 1 : view_.capacity / 4;
    }

    // C2, pairs with P3: the store depends on the loads that found every tag it covers; were it to
    // leave ahead of them, the slot could be written under them. It leaves now (H2): the producer
    // may be waiting.
    CARILLON_POLICY_CODE
    CARILLON_HD void return_credit() {
        far_.store_word(view_.credit, next_ - 1);
        far_.commit(view_.credit, sizeof(*view_.credit));
        held_ = 0;
    }

    RingView view_;
    Sequence next_;
    std::uint32_t held_ = 0;  // lines taken whose credit has not been returned
    Near near_;
    Far far_;
};

}  // namespace carillon

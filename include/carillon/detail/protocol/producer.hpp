// SPDX-License-Identifier: Apache-2.0
// The producer's end of a ring (ring_protocol.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A word beside the lines, stored through the producer's far policy after a line; it leaves later.
template <class B, class Far>
concept DoorbellThrough = std::copyable<B> &&
    requires(B const& doorbell, Far const& far, Sequence last) {
    doorbell.store(far, last);
    doorbell.commit(far);
};

// A producer without a doorbell: the consumer looks at the ring itself.
class NoDoorbell {
   public:
    template <FarAccess Far>
    CARILLON_HD void store(Far const& /*far*/, Sequence /*published*/) const {}
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& /*far*/) const {}
};

// A word beside those of other rings, in the memory of the consumer's side, with the last published
// sequence number: one look at many words finds the rings with news. Line and doorbell need no
// order: a consumer that hears it polls the ring until the line is there.
class TailDoorbell {
   public:
    // With nullptr nothing is rung, like NoDoorbell, decided at run time.
    CARILLON_HD explicit TailDoorbell(std::uint64_t* word = nullptr) : word_(word) {}
    template <FarAccess Far>
    CARILLON_HD void store(Far const& far, Sequence published) const {
        if (word_ != nullptr) far.store_word(word_, published);
    }
    // B1, beside P2: otherwise the doorbell may linger, and nobody looks at the line.
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& far) const {
        if (word_ != nullptr) far.commit(word_, sizeof(*word_));
    }

   private:
    std::uint64_t* word_;
};

// The end that writes lines. Far is its access to the slots, Near to the credit word. It computes
// ahead everything that can be known before the message: between message and publish there is
// little but the store.
//
// Lanes are the threads that write lines together. Every lane calls every member function with the
// same arguments and keeps the same numbers; the first one stores, except in try_push_quads(). Each
// lane looks for room itself, and they vote. Pages tells where it writes; pairs are for one thread.
//
// On non-coherent memory a flush may throw. A number is used up once its line has been stored with
// its tags, before the flush: no other message gets tags that may have arrived. Therefore after an
// exception each message with a number below next() counts as sent, and leaves with the next flush
// of that memory at the latest; any other was not sent, and may be pushed again.
template <class T, FarAccess Far, WordAccess Near, DoorbellThrough<Far> Ringer = NoDoorbell,
          VotingGroup Lanes = OneThread, class Pages = FixedPages>
class Producer {
   public:
    CARILLON_HD explicit Producer(RingView const& view, Far far = Far(), Near near = Near(),
                                  Ringer doorbell = Ringer(), Lanes lanes = Lanes())
        : next_(view.first),
          room_(view.capacity),
          lanes_(lanes),
          pages_(view.pages),
          far_(far),
          view_(view),
          doorbell_(doorbell),
          credit_(view.credit),
          near_(near) {
        slot_ = pages_.slot(view_, next_);
        check_payload<T>();
        static_assert(!Pages::paired || Lanes::most == 1);
    }

    // Publishes one message and returns true, or returns false at once if the ring is full.
    CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        if (was_full()) [[unlikely]]
            return false;
        commit(store(pack(message, tag_of(next_)), data));
        look_now_and_then();
        return true;
    }

    // Pushes a message whose line leaves this side when the caller commits it through the far
    // policy: one commit for lines of several rings. A producer with a doorbell cannot do this.
    CARILLON_HD bool try_push_uncommitted(
        T const& message,
        OutOfLine data = OutOfLine::none) requires std::same_as<Ringer, NoDoorbell> {
        if (was_full()) [[unlikely]]
            return false;
        (void)store(pack(message, tag_of(next_)), data);
        look_now_and_then();
        return true;
    }

    // Publishes the first of `count` messages, as many as there is room for, and returns how many;
    // with one fence for all of them. `data` applies to all of them.
    CARILLON_HD std::size_t try_push_n(T const* messages, std::size_t count,
                                       OutOfLine data = OutOfLine::none) {
        static_assert(Lanes::most == 1,
                      "carillon: the lanes do not vote on the number of messages that fit");
        if (count > room_) look_at_credit();
        std::size_t const fit = count < room_ ? count : room_;
        if (fit == 0) return 0;
        if (data == OutOfLine::written) far_.release();  // P1
        Written all{};
        for (std::size_t done = 0; done < fit;) {
            std::size_t const row = view_.slots_in_a_row(next_);
            std::size_t const count_here = fit - done < row ? fit - done : row;
            all = store_row(messages + done, count_here);
            if (count_here != fit) all = whole_ring();
            done += count_here;
        }
        doorbell_.store(far_, next_ - 1);
        commit(all);  // P2
        return fit;
    }

    // Pushes a packed message, whatever its tags are.
    CARILLON_HD bool try_put(Packed<T> const& message, OutOfLine data = OutOfLine::none) {
        if (was_full()) [[unlikely]]
            return false;
        put(message, data);
        look_now_and_then();
        return true;
    }
    // Pushes a packed message that has room according to was_full(), and does nothing else: the
    // caller that looks for room looks at the credit.
    CARILLON_HD void put(Packed<T> const& message, OutOfLine data = OutOfLine::none) {
        commit(store(with_tag(message, tag_of(next_)), data));
    }

    // How many messages have room, as far as known; looks again if that is less than `wanted`.
    [[nodiscard]] CARILLON_HD std::uint32_t room(std::uint32_t wanted) {
        if (room_ < wanted) look_at_credit();
        return room_;
    }

    // How many messages, `wanted` at most, there is room for in a row.
    [[nodiscard]] CARILLON_HD std::uint32_t room_in_a_row(std::uint32_t wanted) {
        std::uint32_t const row = view_.slot_lines() == 1 ? view_.slots_in_a_row(next_) : 1;
        if (wanted > row) wanted = row;
        std::uint32_t const free = room(wanted);
        return free < wanted ? free : wanted;
    }

    // Stages packed message number `i`, whatever its tag is, of a row of at most `most` messages
    // that there is room for. It leaves with the row, or before.
    template <std::uint32_t most>
    CARILLON_HD void stage(std::uint32_t i, Packed<T> const& message) requires
        std::same_as<Ringer, NoDoorbell> && std::same_as<Pages, FixedPages> {
        static_assert(lines_of<T> == 1 && Lanes::most == 1);
        Packed<T> const tagged = with_tag(message, tag_of(next_ + i));
        if constexpr (RowAccess<Far>) {
            far_.template stage<most>(slot_ + i, i, tagged, quads_of<T>);
        } else {
            detail::store_message<T>(far_, slot_ + i, tagged, tag_of(next_ + i - view_.capacity));
        }
    }
    // Publishes the first `count` staged messages, at least one; they leave together if the far
    // policy can do that.
    template <std::uint32_t most>
    CARILLON_HD void put_staged(std::uint32_t count) {
        if constexpr (RowAccess<Far>) {
            far_.template store_staged<most>(slot_, count, quads_of<T>);
        }
        Line* const first = slot_;
        advance(count);
        far_.commit(first, count * sizeof(Line));  // P2
    }

    // Publishes `count` lines and returns true, or returns false at once if there is no room for
    // all. The lanes store a quad each: words_of(i).word are the payload words of quad i, counted
    // over all lines. No lane waits for another, because each quad carries its tag.
    template <class WordsOf>
    CARILLON_HD bool try_push_quads(std::uint32_t count, WordsOf&& words_of) requires
        QuadAccess<Far> && std::same_as<Ringer, NoDoorbell> && std::same_as<Pages, FixedPages> {
        if (lacks_room(count)) return false;
        for (std::uint32_t i = lanes_.thread_rank(); i < count * quads_per_line;
             i += lanes_.size()) {
            Sequence const sequence = next_ + i / quads_per_line;
            Quad* const to = &view_.slot(sequence)->quads[i % quads_per_line];
            far_.store_quad(to, pack_quad(words_of(i).word, tag_of(sequence)));
            far_.commit(to, sizeof(Quad));  // P2
        }
        advance(count);
        // Nobody waits for this look.
        if (room_ < view_.capacity / 2) look_at_credit();
        return true;
    }

    // Publishes one message and returns true, or returns false at once if the ring is full. The
    // lanes store some quads each: words_of(i).word are the payload words of quad i.
    template <class WordsOf>
    CARILLON_HD bool try_push_shared_out(WordsOf&& words_of,
                                         OutOfLine data = OutOfLine::none) requires
        QuadAccess<Far> && std::same_as<Ringer, NoDoorbell> && std::same_as<Pages, FixedPages> {
        if (was_full()) return false;
        if (data == OutOfLine::written) far_.release();  // P1
        for (std::size_t i = lanes_.thread_rank(); i < quads_of<T>; i += lanes_.size()) {
            far_.store_quad(&slot_->quads[0] + i, pack_quad(words_of(i).word, tag_of(next_)));
        }
        far_.commit(slot_, sizeof(Packed<T>));  // P2
        advance_by_one();
        look_now_and_then();
        return true;
    }

    // Whether no slot was free just now.
    [[nodiscard]] CARILLON_HD bool was_full() { return lacks_room(1); }

    // Reads everything that a push reads, to have it in the caches, and stores nothing. Also looks
    // at the credit.
    CARILLON_HD void warm() {
        look_at_credit();
        if constexpr (requires { far_.warm(slot_); }) far_.warm(slot_);
    }

    // The sequence number that the next message will get.
    [[nodiscard]] CARILLON_HD Sequence next() const { return next_; }
    [[nodiscard]] CARILLON_HD std::uint32_t capacity() const { return view_.capacity; }

   private:
    // Memory whose content must leave this side.
    struct Written {
        Line* where;
        std::size_t bytes;
    };
    [[nodiscard]] CARILLON_HD Written whole_ring() const {
        return {view_.base, view_.lines() * sizeof(Line)};
    }

    // P2, through H2: what was stored leaves this side now, not when a write-combining buffer
    // happens to be evicted. Quads need no order: each carries its tag.
    CARILLON_HD void commit(Written written) {
        if (is_leader(lanes_)) {
            far_.commit(written.where, written.bytes);
            doorbell_.commit(far_);
        }
    }
    CARILLON_HD Written store(Packed<T> const& message, OutOfLine data) {
        bool const told = ask_for_pages();
        Written const written = told ? Written{slot_, sizeof(Packed<T>)} : whole_ring();
        if (is_leader(lanes_)) {
            // P1, pairs with C1: what the message refers to is complete before the line that names
            // it. Writes of other threads count if they came before those threads met the leader.
            if (data == OutOfLine::written) far_.release();
            Tag const previous = tag_of(next_ - view_.capacity);
            detail::store_message<T>(far_, slot_, message, previous);
            if constexpr (Pages::paired) {  // P4
                if (!told) [[unlikely]]
                    detail::store_message<T>(far_, pages_.other(view_, next_), message, previous);
            }
            doorbell_.store(far_, next_);
        }
        advance_by_one();
        return written;
    }

    // P4, pairs with C3: whether it is known in which page the consumer looks for the next line.
    // Until then it goes to both: into the other one alone, it would never be found.
    [[nodiscard]] CARILLON_HD bool ask_for_pages() {
        if constexpr (Pages::paired) {
            if (!pages_.known()) [[unlikely]] {
                slot_ = pages_.look(near_, view_, next_);
                return pages_.known();
            }
        }
        return true;
    }

    // A push looks at the credit four times a lap, after a publish, where nobody waits for it.
    CARILLON_HD void look_now_and_then() {
        if ((tag_of(next_) & (view_.capacity / 4 - 1)) == 0) look_at_credit();
    }

    // Stores `count` messages in as many consecutive slots.
    CARILLON_HD Written store_row(T const* messages, std::size_t count) {
        bool const told = ask_for_pages();
        Written const written =
            told ? Written{slot_, count * view_.slot_lines() * sizeof(Line)} : whole_ring();
        Tag const previous = tag_of(next_ - view_.capacity);
        detail::store_messages(far_, slot_, view_.slot_lines(), messages, count, tag_of(next_),
                               previous);
        if constexpr (Pages::paired) {  // P4
            if (!told) [[unlikely]]
                detail::store_messages(far_, pages_.other(view_, next_), view_.slot_lines(),
                                       messages, count, tag_of(next_), previous);
        }
        advance(count);
        return written;
    }

    CARILLON_HD void advance_by_one() {
        ++next_;
        --room_;
        slot_ = next_slot(pages_, view_, next_, slot_);
    }
    CARILLON_HD void advance(std::size_t count) {
        next_ += count;
        room_ -= static_cast<std::uint32_t>(count);
        slot_ = pages_.slot(view_, next_);
    }
    [[nodiscard]] CARILLON_HD bool lacks_room(std::uint32_t lines) {
        if (!lanes_.any(room_ < lines)) return false;
        look_at_credit();
        return lanes_.any(room_ < lines);
    }

    // P3, pairs with C2: the slot's last line was taken before it is written again; otherwise a
    // line is lost. A consumer that is wrong may write any credit there: it has lines overwritten,
    // but never more than there are. Each lane looks before its own stores.
    CARILLON_HD void look_at_credit() {
        Sequence const taken = near_.load_word(credit_);
        auto const outstanding = static_cast<std::int64_t>(next_ - 1 - taken);
        room_ = outstanding < 0 ? view_.capacity
                : outstanding > view_.capacity
                    ? 0
                    : view_.capacity - static_cast<std::uint32_t>(outstanding);
    }

    // A push reads the members in this order; those that it reads before its store are together.
    Sequence next_;
    Line* slot_;          // the slot of line next_
    std::uint32_t room_;  // slots known to be free
    Lanes lanes_;
    Pages pages_;
    Far far_;
    RingSlots view_;
    Ringer doorbell_;
    std::uint64_t* credit_;  // looked at four times a lap
    Near near_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

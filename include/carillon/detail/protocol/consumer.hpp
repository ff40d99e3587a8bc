// SPDX-License-Identifier: Apache-2.0
// The consumer's end of a ring (ring_protocol.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The end that takes lines. Near is its access to the slots, Far to the credit word. Lanes are the
// threads that take lines: every lane calls every member function, takes every line and keeps the
// same counters; the first one returns the credit. Pages tells where it looks for slots.
template <class T, NearAccess Near, FarAccess Far, VotingGroup Lanes = OneThread,
          class Pages = FixedPages>
class Consumer {
   public:
    CARILLON_HD explicit Consumer(RingView const& view, Near near = Near(), Far far = Far(),
                                  Lanes lanes = Lanes())
        : next_(view.first),
          near_(near),
          view_(view),
          far_(far),
          credit_(view.credit),
          lanes_(lanes),
          pages_(view.pages) {
        check_payload<T>();
        if constexpr (!Pages::paired) slot_ = pages_.slot(view_, next_);
    }

    // Chooses the page of each pair at which it will look, and tells the producer, unless done
    // before. Otherwise the first try does it, and takes longer.
    CARILLON_HD void choose_pages() {
        if constexpr (Pages::paired) {
            if (slot_ != nullptr) [[likely]]
                return;
            pages_.choose(near_, far_, lanes_, view_, next_);
            slot_ = pages_.slot(view_, next_);
        }
    }

    // Takes the next message and returns true, or returns false at once if not all of it has
    // arrived.
    CARILLON_HD bool try_pop(T& message) {
        Packed<T> packed;
        if (!try_take(packed)) return false;
        message = unpack<T>(packed);
        return true;
    }

    // Takes a message within `polls` looks, at least one. There is nothing between two looks, so it
    // sees a message sooner than a loop around try_pop() (on a GPU by some 100 ns). Between two
    // calls the caller checks whether to go on.
    CARILLON_HD bool try_pop(T& message, std::uint32_t polls) {
        choose_pages();
        return try_consume_within(
            polls == 0 ? 1 : polls, [] {},
            [&](Packed<T> const& taken) { message = unpack<T>(taken); });
    }

    // Takes a message packed, for types that cannot be default-constructed.
    CARILLON_HD bool try_take(Packed<T>& message) {
        choose_pages();
        if constexpr (1 < lines_of<T> && !KeepAccess<Near>) {  // on the CPU they are in memory
            return look_within(
                1, message, [] {}, [](Packed<T> const&) {});
        } else {
            return try_consume_within(
                1, [] {}, [&](Packed<T> const& taken) { message = taken; });
        }
    }

    // Takes a message and calls `use(message)`, with nothing between arrival and use. Even if the
    // use throws, the message is taken, and is not delivered again.
    template <class Use>
    CARILLON_HD bool try_consume(Use&& use) {
        if constexpr (NearQuadAccess<Near>) detail::check_device_call<void, Packed<T> const&>(use);
        choose_pages();
        return try_consume_within(
            1, [] {}, use);
    }

    // Takes a message within `polls` looks and calls `use` with it, after choose_pages(). It calls
    // `in_vain()` after each look that found nothing; there is nothing else between two looks.
    template <class InVain, class Use>
    CARILLON_HD bool try_consume_within(std::uint32_t polls, InVain&& in_vain, Use&& use) {
        Packed<T> message;
        return look_within(polls, message, in_vain, use);
    }

    // Takes the next message if all of it has arrived, after choose_pages(). The lanes share its
    // quads, and each calls put(i, quad) for its own.
    template <class Put>
    CARILLON_HD bool try_take_quads(Put&& put) requires NearQuadAccess<Near> {
        constexpr std::size_t most = (quads_of<T> + Lanes::most - 1) / Lanes::most;
        if (held_ >= credit_batch()) return_credit();
        Quad const* const slot = slot_->quads;
        std::size_t const rank = lanes_.thread_rank();
        Quad mine[most];
        auto const index = [&](std::size_t i) { return rank + i * lanes_.size(); };
        // A lane with fewer quads than others loads one of its own again, or the first.
        std::size_t const instead = rank < quads_of<T> ? rank : 0;
        for (std::size_t i = 0; i < most; ++i) {
            Quad const* const from = slot + (index(i) < quads_of<T> ? index(i) : instead);
            mine[i] = i + 1 < most ? near_.load_quad_ahead(from) : near_.load_quad(from);
        }
        Tag const last = mine[most - 1].tag();
        Tag difference = last ^ tag_of(next_);
        for (std::size_t i = 0; i + 1 < most; ++i) difference |= mine[i].tag() ^ last;
        if (!lanes_.all(difference == 0)) {
            if (held_ != 0 && ++misses_ >= misses_before_return) return_credit();
            return false;
        }
        Taking const taking{*this};
        for (std::size_t i = 0; i < most; ++i) {
            if (index(i) < quads_of<T>) put(index(i), mine[i]);
        }
        return true;
    }

    // Takes at most `count` of the next messages, if they have arrived, after choose_pages(), and
    // returns how many: calls use(i, message) for each, i from 0. Their loads are in flight
    // together, `most` of them but none beyond the page, so that many in a row take the time of
    // one. For looks that mostly find nothing, try_consume() is faster.
    template <std::uint32_t most, class Use>
    CARILLON_HD std::uint32_t try_consume_row(std::uint32_t count, Use&& use) {
        // This many are looked at together, and used one after the other.
        constexpr std::uint32_t at_once = most < 4 ? most : 4;
        static_assert(lines_of<T> == 1 && Lanes::most == 1 && most % at_once == 0);
        if (held_ >= credit_batch()) return_credit();
        std::uint32_t const in_a_row = view_.slots_in_a_row(next_);
        std::uint32_t const wanted = count < in_a_row ? count : in_a_row;
        if (wanted == 0) return 0;
        Packed<T> messages[most];
        if (most <= in_a_row && view_.slot_lines() == 1) [[likely]] {
            // Each has a constant distance from the first; messages beyond `wanted` are not looked
            // at.
            detail::load_row<T>(near_, messages, [&](std::uint32_t i) { return slot_ + i; });
        } else {  // none beyond the page: the last one again
            detail::load_row<T>(near_, messages, [&](std::uint32_t i) {
                return slot_ + std::size_t{i < wanted ? i : wanted - 1} * view_.slot_lines();
            });
        }
        TakingRow taking{*this};
        Packed<T> rest[at_once];
        CARILLON_UNROLL
        for (std::uint32_t i = 0; i < at_once; ++i) rest[i] = messages[i];
        // If all of a group have arrived, nothing is between their uses, which can overlap.
        CARILLON_UNROLL
        for (std::uint32_t first = 0; first < most; first += at_once) {
            if (taking.taken != first || first + at_once > wanted) continue;
            if (!have_arrived<at_once>(&messages[first], first)) continue;
            CARILLON_UNROLL
            for (std::uint32_t i = first; i < first + at_once; ++i) taking.use(i, messages[i], use);
            if (first + at_once == most) continue;
            CARILLON_UNROLL
            for (std::uint32_t i = 0; i < at_once; ++i) rest[i] = messages[first + at_once + i];
        }
        std::uint32_t const first = taking.taken;
        CARILLON_UNROLL
        for (std::uint32_t i = 0; i + 1 < at_once; ++i) {
            if (taking.taken != first + i || first + i >= wanted) continue;
            if (!has_arrived(rest[i], tag_of(next_ + first + i), quads_of<T>)) continue;
            taking.use(first + i, rest[i], use);
        }
        if (taking.taken == 0) detail::keep_row<T>(near_, messages);
        return taking.taken;
    }

    // Takes as many of the next `count` messages as have arrived, in order, and returns how many.
    CARILLON_HD std::size_t try_pop_n(T* messages, std::size_t count) {
        std::size_t taken = 0;
        while (taken < count &&
               try_consume([&](Packed<T> const& next) { messages[taken] = unpack<T>(next); })) {
            ++taken;
        }
        return taken;
    }

    // Messages taken whose credit has not been returned.
    [[nodiscard]] CARILLON_HD std::uint32_t held() const { return held_; }
    // Returns that credit early, for a consumer that may not look again for a while.
    CARILLON_HD void return_held() {
        if (held_ != 0) return_credit();
    }

    // Reads everything that a take reads, to have it in the caches, and takes nothing.
    CARILLON_HD void warm() const requires WordAccess<Near> {
        (void)near_.load_word(&awaited()->quads[0].low);
    }

    // The sequence number of the message that the next successful take will return.
    [[nodiscard]] CARILLON_HD Sequence next() const { return next_; }
    // The line of the next message at which the consumer looks.
    [[nodiscard]] CARILLON_HD Line const* awaited() const {
        return slot_ + detail::awaited_line<T>;
    }
    // Whether message `number`, taken or not, is in its slot. On the CPU any thread may call it.
    [[nodiscard]] CARILLON_HD bool holds(Sequence number) const {
        Packed<T> message;
        return detail::load_message<T>(near_, view_.slot(number), tag_of(number), message);
    }
    [[nodiscard]] CARILLON_HD std::uint32_t capacity() const { return view_.capacity; }

    // After this many looks in a row that find nothing, or a few more, all credit is returned: tens
    // of microseconds, longer than a round trip. A CPU looks more often in that time.
    static constexpr std::uint32_t misses_before_return = looks_within_a_trip<Near>;

   private:
    // The destructor takes the message, even if the use throws: after the use, when nobody waits.
    struct Taking {
        Consumer& consumer;

        CARILLON_HD ~Taking() {
            ++consumer.next_;
            ++consumer.held_;
            consumer.misses_ = 0;
            consumer.slot_ =
                next_slot(consumer.pages_, consumer.view_, consumer.next_, consumer.slot_);
        }
    };

    // Takes several messages in a row, see Taking.
    struct TakingRow {
        Consumer& consumer;
        std::uint32_t taken = 0;
        template <class Use>
        CARILLON_HD void use(std::uint32_t i, Packed<T> const& message, Use& use) {
            taken = i + 1;
            use(i, message);
        }
        CARILLON_HD ~TakingRow() {
            if (taken == 0) return;
            consumer.next_ += taken;
            consumer.held_ += taken;
            consumer.misses_ = 0;
            consumer.slot_ = consumer.pages_.slot(consumer.view_, consumer.next_);
        }
    };
    // Whether `count` messages are those from number next_ + `first` on.
    template <std::uint32_t count>
    [[nodiscard]] CARILLON_HD bool have_arrived(Packed<T> const* messages,
                                                std::uint32_t first) const {
        Tag difference = 0;
        CARILLON_UNROLL
        for (std::uint32_t i = 0; i < count; ++i) {
            difference |= tag_difference(messages[i], tag_of(next_ + first + i), quads_of<T>);
        }
        return difference == 0;
    }
    template <class InVain, class Use>
    CARILLON_HD bool look_within(std::uint32_t polls, Packed<T>& message, InVain&& in_vain,
                                 Use&& use) {
        // A batch of credits goes back before the looks, not between arrival and use.
        if (held_ >= credit_batch()) return_credit();
        Line const* const slot = slot_;
        std::uint32_t const looks = polls;
        while (!look(slot, message)) {
            in_vain();
            if (--polls != 0) continue;
            found_nothing(looks, message);
            return false;
        }
        Taking const taking{*this};
        use(message);
        return true;
    }

    // C1, pairs with P1: the load is an acquire; otherwise what the line names could be read before
    // it is there. Each lane does it: each reads on its own what the line names. The lanes' loads
    // of one address are usually one access; otherwise all wait for the last.
    CARILLON_HD bool look(Line const* slot, Packed<T>& message) {
        return lanes_.all(detail::load_message<T>(near_, slot, tag_of(next_), message));
    }

    // Credit of less than a batch is returned when no message has come for a while. Returning it
    // sooner would cost every call a write on the bus.
    CARILLON_HD void found_nothing(std::uint32_t looks, Packed<T> const& message) {
        if (held_ == 0) return;
        misses_ += looks;
        if (misses_ < misses_before_return) return;
        detail::keep_message<T>(near_, message);
        return_credit();
    }

    [[nodiscard]] CARILLON_HD std::uint32_t credit_batch() const {
        return view_.capacity < 4 ? 1 : view_.capacity / 4;
    }

    // C2, pairs with P3: the store depends on the loads that found every tag it covers; if it left
    // ahead of them, the slot could be written under them.
    CARILLON_HD void return_credit() {
        detail::return_credit(far_, lanes_, credit_, next_ - 1);
        held_ = 0;
    }

    // A take reads the members in this order; those behind view_ are for the credit.
    Sequence next_;
    Line* slot_ = nullptr;      // the slot of message next_, once its page is chosen
    std::uint32_t held_ = 0;    // messages taken whose credit has not been returned
    std::uint32_t misses_ = 0;  // looks in a row that found nothing, while there are such
    Near near_;
    RingSlots view_;
    Far far_;
    std::uint64_t* credit_;
    Lanes lanes_;
    Pages pages_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

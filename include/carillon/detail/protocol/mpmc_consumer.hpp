// SPDX-License-Identifier: Apache-2.0
// The consuming end of MpmcRing (mpmc_ring_protocol.hpp). A consumer that ends leaves the rest of
// its stripe to the next one, by words in the consumers' memory:
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
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// Marks a taken message of a stripe that is about to be left. Only this thread changes the word
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
    // One of the words is 0, because there is one for each consumer that may hold a stripe.
    std::uint32_t i = 0;
    while (i < view.stripes() && near.compare_exchange(view.left_stripe(i), 0, begin) != 0) ++i;
    (void)near.fetch_add(view.left_count(), 1);
}

// Finds the word of the first left stripe that begins before `first`, and sets `first` to its first
// number; returns nullptr if there is none. The result may be old: the claim (S9) decides.
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
        if (near.compare_exchange(where, first, 0) != first) continue;  // another thread was faster
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

// After this many failed polls in a row a consumer checks whether its line was given up; a power of
// two. Tests use fewer.
template <NearAccess Near>
inline constexpr std::uint32_t polls_per_look = 64;

// The end that takes lines: a thread, or the lanes of a warp, which share a stripe. There may be
// any number of ends. Every lane calls every member function. `hands_on`: an end may leave its
// stripe to another; all consumers of the ring then have as many lanes.
template <class T, ClaimAccess Near, FarAccess Far, VotingGroup Lanes, bool hands_on = false>
class MpmcConsumer {
   public:
    // Lines that one lane loads before it looks at the first.
    static constexpr std::uint32_t read_ahead = 4;
    CARILLON_HD explicit MpmcConsumer(MpmcRingView const& view, Near near = Near(), Far far = Far(),
                                      Lanes lanes = Lanes())
        : view_(view), near_(near), far_(far), lanes_(lanes) {
        check_payload<T>();
    }

    // Takes arrived lines of this consumer's stripe, at most `read_ahead` per lane, and calls
    // use(message, sequence) for each, in a lane's order. Returns to every lane whether any lane
    // took one. A message is taken before it is used: if `use` throws, that message and those
    // before it are not delivered again, and the next poll continues behind it.
    template <class Use>
    CARILLON_HD bool poll(Use&& use) {
        if constexpr (NearQuadAccess<Near>) detail::check_device_call<void, T, Sequence>(use);
        if (begin_ == 0) claim();
        if constexpr (hands_on) {
            if (resumed_) [[unlikely]]
                pass_over_marked();
        }
        std::uint32_t got = take(use);
        if (got != 0) {
            misses_ = 0;
        } else if (mine_taken_ < mine() && is_time_to_look(++misses_)) {
            got = skip_if_given_up(use);
        }
        if (lanes_.all(mine_taken_ == mine())) return_credit();
        bool const any = lanes_.any(got != 0);
        if constexpr (hands_on) {
            if (!any && begin_ != 0 && is_time_to_look(++idle_)) look_for_left();
        }
        return any;
    }

    // Leaves the rest of its stripe to the next consumer that looks for one. Call it before this
    // end is destroyed or rests: a stripe that nobody takes fills the ring. The end may poll again.
    CARILLON_HD void hand_on() requires hands_on {
        if (begin_ == 0) return;
        for (std::uint32_t i = 0; i < mine_taken_; ++i) {
            detail::mark_taken(view_, near_, sequence(i));
        }
        lanes_.sync();  // every lane's marks come before the leader's word (S9)
        if (is_leader(lanes_)) detail::leave_stripe(view_, near_, far_, begin_);
        begin_ = 0;
        fresh_ = true;
    }

    // The begin of the stripe that one thread holds, or 0; and the number of its first message that
    // was not taken, which is behind the stripe if `use` threw at the last one.
    [[nodiscard]] Sequence begin() const requires(hands_on&& Lanes::most == 1) { return begin_; }
    [[nodiscard]] Sequence next() const requires(hands_on&& Lanes::most == 1) {
        return sequence(mine_taken_);
    }

    // The number of sequence numbers that this lane skipped because their producer died.
    [[nodiscard]] CARILLON_HD std::uint64_t skipped() const { return skipped_; }

   private:
    [[nodiscard]] CARILLON_HD static bool is_time_to_look(std::uint32_t misses) {
        return (misses & (polls_per_look<Near> - 1)) == 0;
    }
    // The number of this lane's lines in a stripe: every size()th from thread_rank() on.
    [[nodiscard]] CARILLON_HD std::uint32_t mine() const {
        return (view_.stripe() + lanes_.size() - 1 - lanes_.thread_rank()) / lanes_.size();
    }
    [[nodiscard]] CARILLON_HD Sequence sequence(std::uint32_t mine) const {
        return begin_ + lanes_.thread_rank() + std::uint64_t{mine} * lanes_.size();
    }
    CARILLON_HD void claim() {
        if constexpr (hands_on) {
            resumed_ = false;
            if (fresh_ && resume_left()) return;
        }
        Sequence last = 0;
        if (is_leader(lanes_)) last = near_.fetch_add(view_.taken, view_.stripe());
        begin_ = lanes_.broadcast(last) + 1;
        mine_taken_ = 0;
    }

    // Continues the first stripe that was left, if there is one. The next claim looks again: this
    // consumer may have left its own stripe, for whose credit producers wait next.
    CARILLON_HD bool resume_left() {
        Sequence found = 0;
        if (is_leader(lanes_)) found = detail::claim_left(view_, near_);
        begin_ = lanes_.broadcast(found);
        fresh_ = begin_ != 0;
        if (!fresh_) return false;
        lanes_.sync();  // the leader's loads come before each lane's look at the marks (S9)
        mine_taken_ = 0;
        resumed_ = true;
        return true;
    }

    // Producers wait for the credit of the first stripe: if that was left, this consumer leaves its
    // own stripe, and the next poll continues the first.
    CARILLON_HD void look_for_left() {
        bool is_left = false;
        if (is_leader(lanes_)) is_left = detail::is_left_before(view_, near_, begin_);
        if (lanes_.any(is_left)) hand_on();
    }

    // In a stripe that another consumer began, skips the taken lines, lane by lane.
    CARILLON_HD void pass_over_marked() {
        while (mine_taken_ < mine() && detail::is_marked(view_, near_, sequence(mine_taken_))) {
            ++mine_taken_;
        }
        resumed_ = false;
    }

    // S4, pairs with S1: the loads are acquires; otherwise data that a message refers to could be
    // read before they are there.
    template <class Use>
    CARILLON_HD std::uint32_t take(Use&& use) {
        std::uint32_t const left = mine() - mine_taken_;
        std::uint32_t got = 0;
        if constexpr (Lanes::most == 1 && KeepAccess<Near> && lines_of<T> == 1) {
            // A single message is found sooner; if it is there, others may be.
            if (left != 0 && take_next(use)) got = 1 + take_row(left - 1, use);
        } else if constexpr (Lanes::most == 1) {
            // A CPU looks ahead by itself, and is fastest with a line that it need not put aside.
            while (got < read_ahead && got < left && take_next(use)) ++got;
        } else {
            constexpr std::uint32_t ahead = lines_of<T> == 1 ? read_ahead : 1;
            Packed<T> messages[ahead];
            bool arrived[ahead];
            CARILLON_UNROLL
            for (std::uint32_t i = 0; i < ahead; ++i) {
                arrived[i] = i < left && load(sequence(mine_taken_ + i), messages[i]);
            }
            CARILLON_UNROLL
            for (std::uint32_t i = 0; i < ahead; ++i) {
                if (got == i && arrived[i]) {
                    use(unpack<T>(messages[i]), sequence(mine_taken_ + i));
                    got = i + 1;
                }
            }
            if (got == 0 && is_time_to_look(misses_ + 1)) {
                CARILLON_UNROLL
                for (std::uint32_t i = 0; i < ahead && i < left; ++i) {
                    detail::keep_message<T>(near_, messages[i]);
                }
            }
            mine_taken_ += got;  // with several lanes nothing throws
        }
        return got;
    }
    [[nodiscard]] CARILLON_HD bool load(Sequence awaited, Packed<T>& message) const {
        return detail::load_message<T>(near_, view_.slot(awaited), tag_of(awaited), message);
    }

    // Takes the next of this thread's messages, if it is there.
    template <class Use>
    CARILLON_HD bool take_next(Use&& use) {
        Sequence const awaited = sequence(mine_taken_);
        Packed<T> message;
        if (!load(awaited, message)) {
            if (is_time_to_look(misses_ + 1)) detail::keep_message<T>(near_, message);
            return false;
        }
        ++mine_taken_;
        use(unpack<T>(message), awaited);
        return true;
    }

    // Takes the arrived ones of its next `left` messages, at most read_ahead. Their loads are in
    // flight together, and the last one is the acquire (S4).
    template <class Use>
    CARILLON_HD std::uint32_t take_row(std::uint32_t left, Use&& use) {
        if (left == 0) return 0;
        Packed<T> messages[read_ahead];
        detail::load_row<T>(near_, messages,
                            [&](std::uint32_t i) { return view_.slot(sequence(mine_taken_ + i)); });
        std::uint32_t got = 0;
        CARILLON_UNROLL
        for (std::uint32_t i = 0; i < read_ahead; ++i) {
            if (got != i || i >= left) continue;
            Sequence const awaited = sequence(mine_taken_);
            if (!has_arrived(messages[i], tag_of(awaited), quads_of<T>)) {
                detail::keep_message<T>(near_, messages[i]);
                continue;
            }
            ++mine_taken_;
            use(unpack<T>(messages[i]), awaited);
            got = i + 1;
        }
        return got;
    }

    // S4, pairs with S5 too: a number is given up after every earlier line of living producers, and
    // its word is loaded ahead of the line. So a line that is there is taken, whoever wrote it.
    template <class Use>
    CARILLON_HD std::uint32_t skip_if_given_up(Use&& use) {
        Sequence const awaited = sequence(mine_taken_);
        std::uint32_t const index = view_.index(awaited);
        if (near_.load_word(view_.given_up + index) != awaited) return 0;
        ++mine_taken_;
        Packed<T> message;
        if (!load(awaited, message)) {
            ++skipped_;
            detail::keep_message<T>(near_, message);
            return 0;
        }
        use(unpack<T>(message), awaited);
        return 1;
    }

    // S2, pairs with S3: every lane has found the tags of its lines; otherwise a slot could be
    // written while a lane still looks at it.
    CARILLON_HD void return_credit() {
        detail::return_credit(far_, lanes_, view_.credit(begin_), view_.stripe_end(begin_));
        begin_ = 0;
    }

    MpmcRingView view_;
    Sequence begin_ = 0;            // the begin of the stripe that is being taken; 0 for none
    std::uint32_t mine_taken_ = 0;  // taken lines of this lane in it
    std::uint32_t misses_ = 0;      // polls in a row in which this lane found nothing
    std::uint32_t idle_ = 0;        // polls in which no lane found anything
    bool fresh_ = true;             // it has not looked for left stripes yet
    bool resumed_ = false;          // another consumer began the stripe
    std::uint64_t skipped_ = 0;
    Near near_;
    Far far_;
    Lanes lanes_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

// SPDX-License-Identifier: Apache-2.0
// The end of an MPMC ring (mpmc_ring.hpp) that takes lines.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/credit.hpp"
#include "carillon/detail/protocol/hand_on.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/device_call.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// How many polls in a row find nothing before a consumer looks whether its line was given up; a
// power of two. Tests have fewer.
template <NearAccess Near>
inline constexpr std::uint32_t polls_per_look = 64;

// The end that takes lines: a thread, or the lanes of a warp, which share a stripe out among
// themselves; any number of them. Every lane calls every member function. `hands_on`: one that ends
// may leave its stripe to others (hand_on.hpp); all consumers of a ring have as many lanes then.
template <class T, ClaimAccess Near, FarAccess Far, VotingGroup Lanes, bool hands_on = false>
class MpmcConsumer {
   public:
    // Lines that one lane loads before it looks at the first of them.
    static constexpr std::uint32_t read_ahead = 4;

    CARILLON_POLICY_CODE
    CARILLON_HD explicit MpmcConsumer(MpmcRingView const& view, Near near = Near(), Far far = Far(),
                                      Lanes lanes = Lanes())
        : view_(view), near_(near), far_(far), lanes_(lanes) {
        check_payload<T>();
    }

    // Takes what has arrived of this consumer's stripe, at most `read_ahead` lines a lane, and
    // calls use(message, sequence) for each, a lane's own in order. Returns whether any lane
    // took one, the same to every lane. A message is taken before it is used: one whose use throws
    // is not delivered again, nor are those before it, and the next poll goes on behind it.
    CARILLON_POLICY_CODE
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

    // Leaves the rest of its stripe to the consumer that looks for it next. To be called before
    // this one ends, or rests: a stripe that nobody takes fills the ring. It may poll again.
    CARILLON_POLICY_CODE
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

    // Where the stripe that one thread holds begins, 0 where it holds none; and the number of the
    // first message there that it has not taken, which is behind it where a use threw at the last.
    [[nodiscard]] Sequence begin() const requires(hands_on&& Lanes::most == 1) { return begin_; }
    [[nodiscard]] Sequence next() const requires(hands_on&& Lanes::most == 1) {
        return sequence(mine_taken_);
    }

    // Numbers that this lane skipped because their producer died.
    [[nodiscard]] CARILLON_HD std::uint64_t skipped() const { return skipped_; }

   private:
    [[nodiscard]] CARILLON_HD static bool is_time_to_look(std::uint32_t misses) {
        return (misses & (polls_per_look<Near> - 1)) == 0;
    }
    // The lines of a stripe that are this lane's: every size()th from thread_rank() on.
    [[nodiscard]] CARILLON_HD std::uint32_t mine() const {
        return (view_.stripe() + lanes_.size() - 1 - lanes_.thread_rank()) / lanes_.size();
    }
    [[nodiscard]] CARILLON_HD Sequence sequence(std::uint32_t mine) const {
        return begin_ + lanes_.thread_rank() + std::uint64_t{mine} * lanes_.size();
    }

    CARILLON_POLICY_CODE
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

    // Goes on with the first stripe that is left, if there is one. The next claim looks again then:
    // this consumer may have left its own stripe, for whose credit producers wait next.
    CARILLON_POLICY_CODE
    CARILLON_HD bool resume_left() {
        Sequence found = 0;
        if (is_leader(lanes_)) found = detail::claim_left(view_, near_);
        begin_ = lanes_.broadcast(found);
        fresh_ = begin_ != 0;
        if (!fresh_) return false;
        lanes_.sync();  // what the leader saw comes before each lane's look at the marks (S9)
        mine_taken_ = 0;
        resumed_ = true;
        return true;
    }

    // Producers wait for the credit of the first stripe: where that is left, its own is left, too,
    // and the next poll goes on with the first.
    CARILLON_POLICY_CODE
    CARILLON_HD void look_for_left() {
        bool is_left = false;
        if (is_leader(lanes_)) is_left = detail::is_left_before(view_, near_, begin_);
        if (lanes_.any(is_left)) hand_on();
    }

    // In a stripe that another consumer has begun: behind what that one has taken, lane by lane.
    CARILLON_POLICY_CODE
    CARILLON_HD void pass_over_marked() {
        while (mine_taken_ < mine() && detail::is_marked(view_, near_, sequence(mine_taken_))) {
            ++mine_taken_;
        }
        resumed_ = false;
    }

    // S4, pairs with S1: the loads are acquires; without that what a message refers to could be
    // read before it is there.
    CARILLON_POLICY_CODE
    template <class Use>
    CARILLON_HD std::uint32_t take(Use&& use) {
        std::uint32_t const left = mine() - mine_taken_;
        std::uint32_t got = 0;
        if constexpr (Lanes::most == 1 && KeepAccess<Near> && lines_of<T> == 1) {
            // One alone is found sooner; where it is there, others may be.
            if (left != 0 && take_next(use)) got = 1 + take_row(left - 1, use);
        } else if constexpr (Lanes::most == 1) {
            // A CPU looks ahead by itself, and is best at a line that it need not put aside.
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
            mine_taken_ += got;  // nothing throws where there are more lanes than one
        }
        return got;
    }

    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool load(Sequence awaited, Packed<T>& message) const {
        return detail::load_message<T>(near_, view_.slot(awaited), tag_of(awaited), message);
    }

    // The next of this thread's messages, if it is there.
    CARILLON_POLICY_CODE
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

    // Of its next `left` messages those that are there, at most read_ahead; their loads are in
    // flight together, and the last one is the acquire (S4).
    CARILLON_POLICY_CODE
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

    // S4, pairs with S5 too: a number is given up after every line that living producers wrote
    // before, and its word is looked at ahead of the line. So a line that is there is taken,
    // whoever wrote it.
    CARILLON_POLICY_CODE
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

    // S2, pairs with S3: every lane has found the tags of its lines; without that a slot could be
    // written while a lane still looks at it.
    CARILLON_POLICY_CODE
    CARILLON_HD void return_credit() {
        detail::return_credit(far_, lanes_, view_.credit(begin_), view_.stripe_end(begin_));
        begin_ = 0;
    }

    MpmcRingView view_;
    Sequence begin_ = 0;            // of the stripe that is being taken; 0 for none
    std::uint32_t mine_taken_ = 0;  // of this lane's lines in it
    std::uint32_t misses_ = 0;      // polls in a row in which this lane found nothing
    std::uint32_t idle_ = 0;        // polls in which no lane found anything
    bool fresh_ = true;             // it has not looked for stripes that were left
    bool resumed_ = false;          // another consumer has begun the stripe
    std::uint64_t skipped_ = 0;
    Near near_;
    Far far_;
    Lanes lanes_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The ring that many share: producers claim sequence numbers and write their lines, consumers claim
// stripes of sequence numbers and poll their slots. The order of claims is the order of the ring.
//
// Lines, tags and slots are those of detail/protocol/ring.hpp. A stripe is a row of slots that one
// consumer takes and whose credit returns as one word, so that no consumer needs to know what the
// others have taken. Ownership: a slot belongs to whoever claimed its sequence number, until the
// line's tags are in it; then to the consumer that claimed the stripe, until the stripe's credit
// word has reached the stripe's last sequence number; and then to the next claim.
//
//     memory of the consumers' side                memory of the producers' side
//     +--------+-- ... --+--------+                +---------------------------------+
//     | slot 0 |         | slot n |                | claimed: last sequence claimed  |
//     +--------+-- ... --+--------+                +---------------------------------+
//     | given up: a word a slot   |                | credits: a word a stripe        |
//     +---------------------------+                +---------------------------------+
//     | taken: last one claimed   |                | records: a claim under way each |
//     +---------------------------+                +---------------------------------+
//
// A producer that dies between its claim and its line would stop the ring. Whoever learns of the
// death gives up, in `given_up`, what no living producer holds (give_up_claims); a consumer that
// has waited for a line for a while looks there, looks at the line once more, and skips it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/ring.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

// One side's view of a shared ring. Trivially copyable.
struct SharedRingView {
    Line* slots;
    std::uint64_t* given_up;     // of a slot: the sequence number that will not be written
    std::uint64_t* taken;        // the last sequence number that a consumer has claimed
    std::uint64_t* claimed;      // the last sequence number that a producer has claimed
    std::uint64_t* credits;      // of a stripe: the last sequence number taken
    std::uint32_t capacity;      // a power of two, two stripes at least
    std::uint32_t stripe_shift;  // a stripe is 2^stripe_shift slots
    Sequence first;              // the first sequence number; first - 1 is a multiple of a stripe

    [[nodiscard]] CARILLON_HD std::uint32_t index(Sequence sequence) const {
        return static_cast<std::uint32_t>(sequence - 1) & (capacity - 1);
    }
    [[nodiscard]] CARILLON_HD std::uint32_t stripe() const { return 1U << stripe_shift; }
    [[nodiscard]] CARILLON_HD std::uint64_t* credit(Sequence sequence) const {
        return credits + (index(sequence) >> stripe_shift);
    }
    [[nodiscard]] CARILLON_HD Sequence stripe_end(Sequence sequence) const {
        return ((sequence - 1) | (stripe() - 1)) + 1;
    }
};

// Makes `view` an empty ring whose first line is view.first. Only for memory nobody uses yet.
inline void format_ring(SharedRingView const& view) {
    for (std::uint32_t i = 0; i < view.capacity; ++i) {
        Sequence const sequence = view.first + i;
        view.slots[view.index(sequence)] = with_tag(Line{}, tag_of(sequence - view.capacity));
        view.given_up[i] = 0;
        *view.credit(sequence) = view.first - 1;
    }
    *view.claimed = view.first - 1;
    *view.taken = view.first - 1;
}

// What a producer tells of the claim it is at, for whoever has to know when it has died.
struct alignas(128) ProducerRecord {
    static constexpr Sequence none = 0;          // no claim is under way
    static constexpr Sequence claiming = ~0ULL;  // one may be: its numbers are not told yet

    Sequence begin;  // the first number claimed, or one of the two above
    Sequence end;    // one past the last
};

// How a producer tells of its claim, through its own near policy: that it may be claiming, which
// numbers it has claimed, that their lines are written.
template <class R, class Near>
concept RecordsThrough = std::copyable<R> &&
    requires(R const& record, Near const& near, Sequence number) {
    record.claiming(near);
    record.claimed(near, number, number);
    record.done(near);
};

// A claim that nobody needs to know of: a device's producers end with their kernel.
class NoRecord {
   public:
    template <ClaimAccess Near>
    CARILLON_HD void claiming(Near const& /*near*/) const {}
    template <ClaimAccess Near>
    CARILLON_HD void claimed(Near const& /*near*/, Sequence /*begin*/, Sequence /*end*/) const {}
    template <ClaimAccess Near>
    CARILLON_HD void done(Near const& /*near*/) const {}
};

class ClaimRecord {
   public:
    explicit ClaimRecord(ProducerRecord* record) : record_(record) {}

    template <TellAccess Near>
    void claiming(Near const& near) const {
        near.store_word(&record_->begin, ProducerRecord::claiming);
    }
    template <TellAccess Near>
    void claimed(Near const& near, Sequence begin, Sequence end) const {
        near.store_word(&record_->end, end);
        near.store_word(&record_->begin, begin);
    }
    template <TellAccess Near>
    void done(Near const& near) const {
        near.store_word(&record_->begin, ProducerRecord::none);
    }

   private:
    ProducerRecord* record_;
};

// Sequence numbers first to first + count - 1.
struct Claim {
    Sequence first;
    std::uint32_t count;
};

// Claims numbers for lines. It claims what it has room for, so that a claim is never waited with.
template <ClaimAccess Near, RecordsThrough<Near> Record>
class Claimer {
   public:
    CARILLON_HD Claimer(SharedRingView const& view, Near near, Record record)
        : view_(view), free_until_(view.first - 1), near_(near), record_(record) {}

    // At least `least` and at most `most` numbers in a row, or none at once: where there is no
    // room, or others were faster again and again.
    //
    // S7, pairs with S8: the record says *claiming* before the claim is made. Otherwise a number
    // that a living producer has could be given up.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD Claim try_claim(std::uint32_t least, std::uint32_t most) {
        constexpr int attempts = 64;
        Sequence last = near_.load_word(view_.claimed);
        for (int attempt = 0; attempt < attempts; ++attempt) {
            std::uint32_t const count = room_after(last, most);
            if (count < least || count == 0) return {};
            record_.claiming(near_);
            Sequence const seen = near_.compare_exchange(view_.claimed, last, last + count);
            if (seen == last) {
                record_.claimed(near_, last + 1, last + 1 + count);
                return {last + 1, count};
            }
            record_.done(near_);
            last = seen;
        }
        return {};
    }

    // The lines of the claim are written.
    CARILLON_POLICY_CODE
    CARILLON_HD void done() { record_.done(near_); }

   private:
    // S3, pairs with S2: the numbers after `last`, at most `most`, whose slots were taken a lap
    // ago; without it lines that wait would be overwritten.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD std::uint32_t room_after(Sequence last, std::uint32_t most) {
        Sequence const stripe_start = last & ~Sequence{view_.stripe() - 1};
        if (free_until_ < stripe_start) free_until_ = stripe_start;
        while (free_until_ < last + most) {
            Sequence const end = free_until_ + view_.stripe();
            if (near_.load_word(view_.credit(end)) + view_.capacity < end) break;
            free_until_ = end;
        }
        if (free_until_ <= last) return 0;
        Sequence const room = free_until_ - last;
        return room < most ? static_cast<std::uint32_t>(room) : most;
    }

    SharedRingView view_;
    Sequence free_until_;  // every slot up to this number is known to be free, or claimed
    Near near_;
    Record record_;
};

// One thread's end that writes lines; any number of them, each its own thread.
template <class T, FarAccess Far, ClaimAccess Near, RecordsThrough<Near> Record = NoRecord>
class SharedProducer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD explicit SharedProducer(SharedRingView const& view, Far far = Far(),
                                        Near near = Near(), Record record = Record())
        : view_(view), claimer_(view, near, record), far_(far) {
        check_payload<T>();
    }

    // Publishes one message and returns true, or returns false at once when there is no room.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return try_push_n(&message, 1, data) == 1;
    }

    // Publishes the first ones of `count` messages, as many as there is room for, in a row, and
    // returns how many: with one claim and one fence.
    CARILLON_POLICY_CODE
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
        // S6, through H2: the lines leave before the claim counts as written; without it one of
        // them could linger, and all behind it wait.
        far_.commit(view_.slots + view_.index(claim.first), first * sizeof(Line));
        if (claim.count != first) far_.commit(view_.slots, (claim.count - first) * sizeof(Line));
        claimer_.done();
        return claim.count;
    }

   private:
    CARILLON_POLICY_CODE
    CARILLON_HD void store(Sequence sequence, T const* messages, std::uint32_t count) {
        detail::store_messages(far_, view_.slots + view_.index(sequence), messages, count,
                               tag_of(sequence), tag_of(sequence - view_.capacity));
    }

    SharedRingView view_;
    Claimer<Near, Record> claimer_;
    Far far_;
};

// The end of the lanes of a warp that write lines together, one message a lane. Every lane calls
// every member function.
template <class T, FarAccess Far, ClaimAccess Near, VotingGroup Lanes>
class LanesProducer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD explicit LanesProducer(SharedRingView const& view, Far far = Far(),
                                       Near near = Near(), Lanes lanes = Lanes())
        : view_(view), claimer_(view, near, NoRecord()), far_(far), lanes_(lanes) {
        check_payload<T>();
    }

    // Publishes the messages of the lanes that have one, or none of them where there is no room
    // for all. Returns whether it did, the same to every lane.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_push(T const& message, bool has_one = true,
                              OutOfLine data = OutOfLine::none) {
        std::uint32_t const count = lanes_.count(has_one);
        if (count == 0) return true;
        Claim claim{};
        if (lanes_.thread_rank() == 0) claim = claimer_.try_claim(count, count);
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

    // The same for `count` messages of every lane, with one claim for all of them: claims are one
    // after the other, so larger ones are faster. Message i of the lanes comes before message
    // i + 1 of any.
    CARILLON_POLICY_CODE
    template <std::size_t count>
    CARILLON_HD bool try_push_n(T const (&messages)[count], OutOfLine data = OutOfLine::none) {
        auto const all = static_cast<std::uint32_t>(count) * lanes_.size();
        Claim claim{};
        if (lanes_.thread_rank() == 0) claim = claimer_.try_claim(all, all);
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
    CARILLON_POLICY_CODE
    CARILLON_HD void store(T const& message, Sequence sequence) {
        Line* const slot = view_.slots + view_.index(sequence);
        far_.store_line(slot, pack(message, tag_of(sequence)), tag_of(sequence - view_.capacity));
        far_.commit(slot, sizeof(Line));  // S6
    }

    SharedRingView view_;
    Claimer<Near, NoRecord> claimer_;
    Far far_;
    Lanes lanes_;
};

// How many polls in a row find nothing before a consumer looks whether its line was given up; a
// power of two. Tests have fewer.
template <NearAccess Near>
inline constexpr std::uint32_t polls_per_look = 64;

// The end that takes lines: a thread, or the lanes of a warp, which share a stripe out among
// themselves; any number of them. Every lane calls every member function.
template <class T, ClaimAccess Near, FarAccess Far, VotingGroup Lanes>
class SharedConsumer {
   public:
    // Lines that one lane loads before it looks at the first of them.
    static constexpr std::uint32_t read_ahead = 4;

    CARILLON_POLICY_CODE
    CARILLON_HD explicit SharedConsumer(SharedRingView const& view, Near near = Near(),
                                        Far far = Far(), Lanes lanes = Lanes())
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
        if (begin_ == 0) claim();
        std::uint32_t got = take(use);
        if (got != 0) {
            misses_ = 0;
        } else if (mine_taken_ < mine() && (++misses_ & (polls_per_look<Near> - 1)) == 0) {
            got = skip_if_given_up(use);
        }
        if (lanes_.all(mine_taken_ == mine())) return_credit();
        return lanes_.any(got != 0);
    }

    // Numbers that this lane skipped because their producer died.
    [[nodiscard]] CARILLON_HD std::uint64_t skipped() const { return skipped_; }

   private:
    // The lines of a stripe that are this lane's: every size()th from thread_rank() on.
    [[nodiscard]] CARILLON_HD std::uint32_t mine() const {
        return (view_.stripe() + lanes_.size() - 1 - lanes_.thread_rank()) / lanes_.size();
    }
    [[nodiscard]] CARILLON_HD Sequence sequence(std::uint32_t mine) const {
        return begin_ + lanes_.thread_rank() + std::uint64_t{mine} * lanes_.size();
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void claim() {
        Sequence last = 0;
        if (lanes_.thread_rank() == 0) last = near_.fetch_add(view_.taken, view_.stripe());
        begin_ = lanes_.broadcast(last) + 1;
        mine_taken_ = 0;
    }

    // S4, pairs with S1: the loads are acquires; without that what a message refers to could be
    // read before it is there.
    CARILLON_POLICY_CODE
    template <class Use>
    CARILLON_HD std::uint32_t take(Use&& use) {
        std::uint32_t const left = mine() - mine_taken_;
        std::uint32_t got = 0;
        if constexpr (Lanes::most == 1) {
            // A CPU looks ahead by itself, and is best at a line that it need not put aside.
            for (; got < read_ahead && got < left; ++got) {
                Sequence const awaited = sequence(mine_taken_);
                Line const line = near_.load_line(view_.slots + view_.index(awaited));
                if (!has_arrived(line, tag_of(awaited))) break;
                ++mine_taken_;
                use(unpack<T>(line), awaited);
            }
        } else {
            Line lines[read_ahead];
            for (std::uint32_t i = 0; i < read_ahead; ++i) {
                Sequence const awaited = sequence(mine_taken_ + i);
                lines[i] = i < left ? near_.load_line(view_.slots + view_.index(awaited)) : Line{};
            }
            for (std::uint32_t i = 0; i < read_ahead; ++i) {
                Sequence const awaited = sequence(mine_taken_ + i);
                if (got == i && i < left && has_arrived(lines[i], tag_of(awaited))) {
                    use(unpack<T>(lines[i]), awaited);
                    got = i + 1;
                }
            }
            mine_taken_ += got;  // nothing throws where there are more lanes than one
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
        Line const line = near_.load_line(view_.slots + index);
        if (!has_arrived(line, tag_of(awaited))) {
            ++skipped_;
            return 0;
        }
        use(unpack<T>(line), awaited);
        return 1;
    }

    // S2, pairs with S3: every lane has found the tags of its lines (W1); without that a slot could
    // be written while a lane still looks at it. The credit leaves now (H2).
    CARILLON_POLICY_CODE
    CARILLON_HD void return_credit() {
        lanes_.sync();
        if (lanes_.thread_rank() == 0) {
            std::uint64_t* const credit = view_.credit(begin_);
            far_.store_word(credit, view_.stripe_end(begin_));
            far_.commit(credit, sizeof(*credit));
        }
        begin_ = 0;
    }

    SharedRingView view_;
    Sequence begin_ = 0;            // of the stripe that is being taken; 0 for none
    std::uint32_t mine_taken_ = 0;  // of this lane's lines in it
    std::uint32_t misses_ = 0;      // polls in a row in which this lane found nothing
    std::uint64_t skipped_ = 0;
    Near near_;
    Far far_;
    Lanes lanes_;
};

// Whether the line with this number, which a producer that has died had claimed, was written whole:
// it is there, or one of a later lap. To be asked before the number is given up; reads far memory.
template <NearAccess Near>
[[nodiscard]] bool was_written(SharedRingView const& view, Sequence number, Near near) {
    Line const line = near.load_line(view.slots + view.index(number));
    for (Quad const& quad : line.quads) {
        if (static_cast<std::int32_t>(quad.tag() - tag_of(number)) < 0) return false;
    }
    return true;
}

// Gives up the numbers of a claim whose lines could not be written, for the consumers to skip. Who
// finds a line there all the same takes it.
// S5, pairs with S4.
template <FarAccess Far>
void give_up_claim(SharedRingView const& view, Sequence begin, Sequence end, Far const& far) {
    far.release();
    for (Sequence s = begin; s != end; ++s) far.store_word(view.given_up + view.index(s), s);
    far.commit(view.given_up, view.capacity * sizeof(*view.given_up));
}

// Gives up what no living producer holds, for the consumers to skip: to be called, by one thread
// at a time, after a producer has died. `record(i)` is the record of living producer i, or nullptr
// where there is none, for i < records. Returns false where a living producer is just claiming:
// call it again.
template <FarAccess Far, NearAccess Near, class Records>
bool give_up_claims(SharedRingView const& view, std::size_t records, Records&& record, Far far,
                    Near near, Claim* held) {
    // S8, pairs with S7: the last claim is looked at before the records, so that whoever made one
    // up to it is found claiming, or with its numbers.
    Sequence const last = near.load_word(view.claimed);
    std::size_t holders = 0;
    for (std::size_t i = 0; i < records; ++i) {
        ProducerRecord const* const living = record(i);
        if (living == nullptr) continue;
        Sequence const begin = near.load_word(&living->begin);
        if (begin == ProducerRecord::claiming) return false;
        if (begin == ProducerRecord::none) continue;
        Sequence const end = near.load_word(&living->end);
        // Otherwise that claim is written, and the next one is beyond `last`.
        if (near.load_word(&living->begin) == begin) {
            held[holders++] = {begin, static_cast<std::uint32_t>(end - begin)};
        }
    }
    auto const is_held = [&](Sequence sequence) {
        for (std::size_t i = 0; i < holders; ++i) {
            if (sequence - held[i].first < held[i].count) return true;
        }
        return false;
    };
    // S5, pairs with S4: what living producers wrote has arrived before any number is given up;
    // otherwise a line could be skipped that is there.
    far.release();
    Sequence const lap_before = last < view.capacity ? 0 : last - view.capacity;
    for (Sequence s = lap_before < view.first ? view.first : lap_before + 1; s <= last; ++s) {
        bool const taken = near.load_word(view.credit(s)) >= view.stripe_end(s);
        if (!taken && !is_held(s)) far.store_word(view.given_up + view.index(s), s);
    }
    far.commit(view.given_up, view.capacity * sizeof(*view.given_up));
    return true;
}

}  // namespace carillon

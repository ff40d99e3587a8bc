// SPDX-License-Identifier: Apache-2.0
// The producing ends of MpmcRing (mpmc_ring_protocol.hpp): how they claim sequence numbers and
// record claims, and how the numbers of a dead producer are recovered.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A producer's current claim, for recovery after its death.
struct alignas(128) ProducerRecord {
    static constexpr Sequence none = 0;          // no claim is outstanding
    static constexpr Sequence claiming = ~0ULL;  // it may be claiming: no numbers yet

    Sequence begin;  // the first number claimed, or one of the two above
    Sequence end;    // one past the last
};

// Records a claim through the producer's near policy: that it may be claiming, the numbers that it
// has claimed, and that their lines are written.
template <class R, class Near>
concept RecordsThrough = std::copyable<R> &&
    requires(R const& record, Near const& near, Sequence number) {
    record.claiming(near);
    record.claimed(near, number, number);
    record.done(near);
};

// Records nothing: a device's producers end with their kernel.
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

// Claims numbers for lines. It claims only numbers with room, so no thread waits after a claim.
template <ClaimAccess Near, RecordsThrough<Near> Record>
class Claimer {
   public:
    CARILLON_HD Claimer(MpmcRingView const& view, Near near, Record record)
        : view_(view), free_until_(view.first - 1), near_(near), record_(record) {}

    // Claims `least` to `most` consecutive numbers, or none at once if there is no room or other
    // producers were faster too often.
    //
    // S7, pairs with S8: the record says *claiming* before the claim is made; otherwise a number
    // that a living producer has could be given up.
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

    // Reads what a claim reads, without a claim. Returns the number that would be claimed next.
    CARILLON_HD Sequence look() const {
        Sequence const next = near_.load_word(view_.claimed) + 1;
        (void)near_.load_word(view_.credit(next));
        return next;
    }

    // Call it after the lines of the claim are written.
    CARILLON_HD void done() { record_.done(near_); }

   private:
    // S3, pairs with S2: the numbers after `last`, at most `most`, whose slots were taken a lap
    // ago; otherwise lines that wait would be overwritten.
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

    MpmcRingView view_;
    Sequence free_until_;  // every slot up to this number is free or claimed
    Near near_;
    Record record_;
};

// One thread's end that writes lines. Any number of threads have one each.
template <class T, FarAccess Far, ClaimAccess Near, RecordsThrough<Near> Record = NoRecord>
class MpmcProducer {
   public:
    CARILLON_HD explicit MpmcProducer(MpmcRingView const& view, Far far = Far(), Near near = Near(),
                                      Record record = Record())
        : view_(view), claimer_(view, near, record), far_(far) {
        check_payload<T>();
    }

    // Publishes one message and returns true, or returns false at once if there is no room.
    CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return try_push_n(&message, 1, data) == 1;
    }

    // Publishes the first of `count` messages, as many as there is room for, in a row, with one
    // claim and one fence; returns how many.
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

    // Reads everything that a push reads, to have it in the caches, without claiming or storing.
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

// The end of a warp whose lanes write lines together, one message per lane. Every lane calls every
// member function.
template <class T, FarAccess Far, ClaimAccess Near, VotingGroup Lanes>
class LanesProducer {
   public:
    CARILLON_HD explicit LanesProducer(MpmcRingView const& view, Far far = Far(),
                                       Near near = Near(), Lanes lanes = Lanes())
        : view_(view), claimer_(view, near, NoRecord()), far_(far), lanes_(lanes) {
        check_payload<T>();
    }

    // Publishes the messages of the lanes that have one, or none if there is no room for all.
    // Returns to every lane whether it published.
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

    // Publishes `count` messages of every lane with one claim; claims are made one after the other,
    // so larger ones are faster. Message i of all lanes comes before message i + 1 of any.
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

// Whether the whole message with this number, claimed by a dead producer, was written: it, or one
// of a later lap, is there. Call it before the number is given up. Reads far memory.
template <NearAccess Near>
[[nodiscard]] bool was_written(MpmcRingView const& view, Sequence number, Near near) {
    std::size_t left = view.shape.quads;
    for (Line const* line = view.slot(number); left != 0; ++line) {
        std::size_t const quads = left < quads_per_line ? left : quads_per_line;
        Line const found = near.load_line(line, quads);
        for (std::size_t i = 0; i < quads; ++i) {
            if (static_cast<std::int32_t>(found.quads[i].tag() - tag_of(number)) < 0) return false;
        }
        left -= quads;
    }
    return true;
}

// Gives up the numbers of a claim whose lines could not be written: consumers skip them. A consumer
// that still finds a line there takes it.
// S5, pairs with S4.
template <FarAccess Far>
void give_up_claim(MpmcRingView const& view, Sequence begin, Sequence end, Far const& far) {
    far.release();
    for (Sequence s = begin; s != end; ++s) far.store_word(view.given_up + view.index(s), s);
    far.commit(view.given_up, view.capacity * sizeof(*view.given_up));
}

// Gives up all numbers that no living producer holds: consumers skip them. One thread at a time
// calls it after a producer has died. `record(i)` is the record of living producer i, or nullptr,
// for i < records. Returns false if a living producer is claiming at this moment: call it again.
template <FarAccess Far, NearAccess Near, class Records>
bool give_up_claims(MpmcRingView const& view, std::size_t records, Records&& record, Far far,
                    Near near, Claim* held) {
    // S8, pairs with S7: the last claim is loaded before the records, so that the producer of an
    // earlier claim is found claiming, or with its numbers.
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
    // S5, pairs with S4: lines of living producers have arrived before any number is given up;
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

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

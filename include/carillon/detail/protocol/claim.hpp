// SPDX-License-Identifier: Apache-2.0
// How the producers of an MPMC ring (mpmc_ring_protocol.hpp) claim sequence numbers, and record
// claims.
#pragma once

#include <concepts>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A producer's current claim, for recovery after its death.
struct alignas(128) ProducerRecord {
    static constexpr Sequence none = 0;          // no claim is outstanding
    static constexpr Sequence claiming = ~0ULL;  // perhaps claiming: no numbers yet

    Sequence begin;  // the first number claimed, or one of the two above
    Sequence end;    // one past the last
};

// Records a claim through the producer's near policy: that it may be claiming, which numbers it has
// claimed, and that their lines are written.
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

// Claims numbers for lines. It claims only numbers with room, so nobody waits after a claim.
template <ClaimAccess Near, RecordsThrough<Near> Record>
class Claimer {
   public:
    CARILLON_HD Claimer(MpmcRingView const& view, Near near, Record record)
        : view_(view), free_until_(view.first - 1), near_(near), record_(record) {}

    // Claims `least` to `most` numbers in a row, or none at once: if there is no room, or other
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

    // Reads what a claim reads, without a claim. Returns the number that would be claimed now.
    CARILLON_HD Sequence look() const {
        Sequence const next = near_.load_word(view_.claimed) + 1;
        (void)near_.load_word(view_.credit(next));
        return next;
    }

    // Call it when the lines of the claim are written.
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

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

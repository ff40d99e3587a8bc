// SPDX-License-Identifier: Apache-2.0
// How a kernel's owner leases channels to clients of other processes, which come and go while the
// kernel runs. A lease says which channel a block, or all blocks that share places
// (pool_places.hpp), serve now. Each client has its channel in its own memory. No client can access
// the memory that says which channels are served.
//
//   owner: lays the channel out, empty; writes its place into the line; then an odd number
//   block: sees the number, serves that channel
//   owner: writes the next number, which is even: nobody has the place
//   block: stops serving, and reports that number; the memory is used anew only when all
//          that serve it have reported it
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// In device memory; the owner writes, the block polls the number.
struct alignas(64) LeaseLine {
    std::uint64_t number;  // odd while a client has the block
    // For an object: how often its owner has set its own value, in memory of the owner's.
    std::uint64_t own_sets;
    // The channel's place, the first sequence number of both rings, and whether its request slots
    // lie in pairs of pages. The owner writes them before the number, and never while that is odd.
    std::uint64_t in_device_memory;  // a device's address, like the next
    std::uint64_t in_host_memory;
    Sequence first;
    std::uint64_t in_pairs;  // or 0
    // The number under which the place was laid out; later numbers may lease it again.
    std::uint64_t begun;
};

// For a place that several blocks serve, in device memory. The owner writes it before the number,
// the blocks while that is odd. It has an atom for itself, because on non-coherent memory a flush
// of its neighbours would undo the blocks' writes.
struct alignas(256) LeaseClaim {
    Sequence taken;  // the number of the last request that any block has taken
};

// In host memory; the block writes, the owner reads.
struct alignas(64) LeaseStatus {
    std::uint64_t free;  // the last even number that it saw: it serves no earlier lease
};

// All leases, for one side, and the shape of every channel. Trivially copyable.
struct LeaseTable {
    LeaseLine* lines;     // for each place
    LeaseStatus* status;  // for each place and each block that serves it
    ChannelShape shape;
    std::uint32_t servers = 1;  // the number of blocks that serve a place
    // A word that changes whenever a number may have changed: only then blocks look at all lines.
    // In device memory; the owner writes.
    std::uint64_t* news = nullptr;
    LeaseClaim* claims = nullptr;  // for each place that several blocks serve

    [[nodiscard]] CARILLON_HD LeaseStatus* status_of(unsigned place, unsigned server) const {
        return status + std::size_t{place} * servers + server;
    }
};

[[nodiscard]] CARILLON_HD constexpr bool is_leased(std::uint64_t number) { return number % 2 != 0; }

// A block's end; the block is number `server` among those that serve the place.
template <class Near, class Far>
class LeaseReader {
   public:
    CARILLON_HD LeaseReader(LeaseTable const& table, unsigned place, Near near = Near(),
                            Far far = Far(), unsigned server = 0)
        : line_(table.lines + place),
          status_(table.status_of(place, server)),
          claim_(table.claims == nullptr ? nullptr : table.claims + place),
          shape_(table.shape),
          near_(near),
          far_(far) {}

    // T2, pairs with T1: an acquire; otherwise the place could be an earlier lease's.
    [[nodiscard]] CARILLON_HD std::uint64_t number() const {
        return near_.load_word(&line_->number);
    }

    // Both words of the line that may change, from one load that orders nothing: if the number has
    // changed, number() is called before the place is read.
    struct News {
        std::uint64_t number;
        std::uint64_t own_sets;
    };
    [[nodiscard]] CARILLON_HD News look() const {
        Quad const words = near_.load_pair(&line_->number);
        return {words.low, words.high};
    }
    // T9, pairs with T8: an acquire; otherwise the value could be an earlier one.
    [[nodiscard]] CARILLON_HD std::uint64_t own_sets() const {
        return near_.load_word(&line_->own_sets);
    }

    // The place of the channel whose number was seen.
    [[nodiscard]] CARILLON_HD ChannelTable place() const {
        auto const word = [&](std::uint64_t const& at) { return near_.load_word(&at); };
        return {reinterpret_cast<std::byte*>(word(line_->in_device_memory)),
                reinterpret_cast<std::byte*>(word(line_->in_host_memory)),
                1,
                shape_,
                word(line_->first),
                nullptr,
                word(line_->in_pairs) != 0};
    }

    // The number of the lease that laid out the place; it changes if the place is laid out again.
    [[nodiscard]] CARILLON_HD std::uint64_t begun() const { return near_.load_word(&line_->begun); }

    // The last request taken by any block: for claims (pool_places.hpp).
    [[nodiscard]] CARILLON_HD Sequence* taken() const { return &claim_->taken; }

    // T3, pairs with T4: the block's writes to the channel come before; otherwise they could appear
    // in the memory's next use.
    CARILLON_HD void report_free(std::uint64_t number) const {
        if constexpr (requires { far_.settle(); }) far_.settle();
        far_.release();
        far_.store_word(&status_->free, number);
        far_.commit(&status_->free, sizeof(number));
    }

   private:
    LeaseLine const* line_;
    LeaseStatus* status_;
    LeaseClaim* claim_;
    ChannelShape shape_;
    Near near_;
    Far far_;
};

// The owner's end of a place's line, for one thread at a time.
template <class Near, class Far>
class LeaseWriter {
   public:
    LeaseWriter(LeaseTable const& table, unsigned place, Near near, Far far)
        : line_(table.lines + place),
          status_(table.status_of(place, 0)),
          claim_(table.claims == nullptr ? nullptr : table.claims + place),
          servers_(table.servers),
          near_(near),
          far_(far),
          own_sets_(&line_->own_sets, far) {}

    // Leases it to a laid-out channel, after the earlier lease is over(): `place` has the device's
    // addresses.
    // T1, pairs with T2: the place, and the channel's empty rings, come before the number.
    void begin(ChannelTable const& place) {
        far_.store_word(&line_->in_device_memory, to_word(place.in_device_memory));
        far_.store_word(&line_->in_host_memory, to_word(place.in_host_memory));
        far_.store_word(&line_->first, place.first);
        far_.store_word(&line_->in_pairs, place.in_pairs ? 1 : 0);
        far_.store_word(&line_->begun, number_ + 1);
        far_.commit(line_, sizeof(*line_));
        if (claim_ != nullptr) {
            far_.store_word(&claim_->taken, place.first - 1);
            far_.commit(claim_, sizeof(*claim_));
        }
        far_.release();
        tell(number_ + 1);
    }
    // Leases the same place again with its lines unchanged: a block continues there, left or not.
    void begin_again() { tell(number_ + 1); }
    // Ends the lease. A block may still serve one of its requests until the lease is over().
    void end() {
        if (is_leased(number_)) tell(number_ + 1);
    }

    // Announces that the owner has set the object again.
    // T8, pairs with T9: the value comes before its news; otherwise an end would look for it too
    // early, and not again.
    void tell_own_set() { own_sets_.ring(OutOfLine::written); }

    // Whether a client has it.
    [[nodiscard]] bool leased() const { return is_leased(number_); }
    // Whether no client has it, and no block accesses the memory of any earlier lease.
    // T4, pairs with T3: an acquire; otherwise a block's last writes could come after the memory
    // was prepared for the next client.
    [[nodiscard]] bool over() const {
        if (leased()) return false;
        for (std::uint32_t i = 0; i < servers_; ++i) {
            if (near_.load_word(&status_[i].free) != number_) return false;
        }
        return true;
    }

   private:
    [[nodiscard]] static std::uint64_t to_word(std::byte const* address) {
        return reinterpret_cast<std::uint64_t>(address);
    }
    // The number leaves at once (T1, H2).
    void tell(std::uint64_t number) {
        number_ = number;
        far_.store_word(&line_->number, number);
        far_.commit(&line_->number, sizeof(number));
    }

    LeaseLine* line_;
    LeaseStatus const* status_;
    LeaseClaim* claim_;
    std::uint32_t servers_;
    Near near_;
    Far far_;
    std::uint64_t number_ = 0;
    DoorbellRinger<Far> own_sets_;
};

// The owner's end of LeaseTable::news.
template <FarAccess Far>
class LeaseNewsWriter : DoorbellRinger<Far> {
   public:
    using DoorbellRinger<Far>::DoorbellRinger;

    // Announces that a number has changed.
    // T5, pairs with T6: the number comes before its news; otherwise a block would look at the
    // lines too early, and not again.
    void tell() { this->ring(OutOfLine::written); }
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

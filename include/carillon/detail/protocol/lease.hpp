// SPDX-License-Identifier: Apache-2.0
// How the owner of a kernel lends its attention: which channel a block, or each of the blocks that
// share places (pool_places.hpp), serves now. Channels that clients of other processes have come
// and go while the kernel runs, each in memory of its own; what says which ones are served is in
// memory that no client has.
//
//   owner: lay the channel out, empty; its place into the line; then an odd number
//   block: sees the number, serves that channel
//   owner: the next number, which is even: nobody has it
//   block: stops serving, and says that it has seen that number; only then, when all that serve it
//          have said so, the memory is used anew
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// In device memory; the owner writes, the block polls the number.
struct alignas(64) LeaseLine {
    std::uint64_t number;  // odd while somebody has the block
    // Of an object: how often its owner itself has set it, in memory that no client has.
    std::uint64_t own_sets;
    // Where the channel lies, the first sequence number of both rings, and whether its request
    // slots lie in pairs of pages. Written before the number, and not while it is odd.
    std::uint64_t in_device_memory;  // a device's address, as the next
    std::uint64_t in_host_memory;
    Sequence first;
    std::uint64_t in_pairs;  // or 0
    // The number under which that was laid out: later ones may lend what is there again.
    std::uint64_t begun;
};

// In device memory, of a place that several blocks serve. The owner writes it before the number,
// they do while that is odd. Alone in an atom: on memory that is not coherent a flush of its
// neighbours would undo what the blocks have written.
struct alignas(256) LeaseClaim {
    Sequence taken;  // the number of the last request that one of them has taken
};

// In host memory; the block writes, the owner reads.
struct alignas(64) LeaseStatus {
    std::uint64_t free;  // the last even number that it has seen: it serves nobody before
};

// All that is lent, as one side sees it, and the shape of every channel. Trivially copyable.
struct LeaseTable {
    LeaseLine* lines;     // of each place
    LeaseStatus* status;  // of each place, of each block that serves it
    ChannelShape shape;
    std::uint32_t servers = 1;  // how many blocks serve a place
    // Where blocks look at all lines only when some number may be another: a word that is another
    // value then. In device memory; the owner writes.
    std::uint64_t* news = nullptr;
    LeaseClaim* claims = nullptr;  // of each place that several blocks serve

    [[nodiscard]] CARILLON_HD LeaseStatus* status_of(unsigned place, unsigned server) const {
        return status + std::size_t{place} * servers + server;
    }
};

[[nodiscard]] CARILLON_HD constexpr bool is_leased(std::uint64_t number) { return number % 2 != 0; }

// The end of a block, which of those that serve the place is number `server`.
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

    // T2, pairs with T1: an acquire, without which the place could be that of a lease before.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD std::uint64_t number() const {
        return near_.load_word(&line_->number);
    }

    // Both words of the line that may be news, in one load that orders nothing: where the number is
    // another, number() comes before its place is read.
    struct News {
        std::uint64_t number;
        std::uint64_t own_sets;
    };
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD News look() const {
        Quad const words = near_.load_pair(&line_->number);
        return {words.low, words.high};
    }
    // T9, pairs with T8: an acquire, without which the value could be one that was set before.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD std::uint64_t own_sets() const {
        return near_.load_word(&line_->own_sets);
    }

    // Where the one channel lies whose number was seen.
    CARILLON_POLICY_CODE
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

    // The number of the lease that laid out what the place has now: another, where it begins anew.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD std::uint64_t begun() const { return near_.load_word(&line_->begun); }

    // Which request of it was taken last, by whichever block: for claims (pool_places.hpp).
    [[nodiscard]] CARILLON_HD Sequence* taken() const { return &claim_->taken; }

    // T3, pairs with T4: whatever the block has written into the channel comes before, lest it be
    // found in what the memory is used for next.
    CARILLON_POLICY_CODE
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

// The owner's end of a place's line: one thread at a time.
template <class Near, class Far>
class LeaseWriter {
   public:
    LeaseWriter(LeaseTable const& table, unsigned place, Near near, Far far)
        : line_(table.lines + place),
          status_(table.status_of(place, 0)),
          claim_(table.claims == nullptr ? nullptr : table.claims + place),
          servers_(table.servers),
          near_(near),
          far_(far) {}

    // Lends it to a channel that is laid out: `place` at the device's addresses. Only when the
    // lease before is over().
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
    // Lends the same place again, whose lines are as they were: a block goes on there, whether or
    // not it has left it.
    void begin_again() { tell(number_ + 1); }
    // Takes it back. A block may be at a request of it still, until the lease is over().
    void end() {
        if (is_leased(number_)) tell(number_ + 1);
    }

    // The owner itself has set the object once more.
    // T8, pairs with T9: the value comes before the news of it, or an end would look for it too
    // early, and not again.
    void tell_own_set() {
        far_.release();
        far_.store_word(&line_->own_sets, ++own_sets_);
        far_.commit(&line_->own_sets, sizeof(own_sets_));
    }

    // Whether somebody has it.
    [[nodiscard]] bool leased() const { return is_leased(number_); }
    // Whether nobody has it, and no block touches the memory of any before.
    // T4, pairs with T3: an acquire, without which what a block wrote last could come after what
    // the memory is made for the next.
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
    // It leaves at once (T1, H2).
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
    std::uint64_t own_sets_ = 0;
};

// The owner's end of LeaseTable::news.
template <class Far>
class LeaseNewsWriter {
   public:
    LeaseNewsWriter(std::uint64_t* word, Far far) : word_(word), far_(far) {}

    // Some number is another.
    // T5, pairs with T6: the number comes before the news of it, or a block would look at the
    // lines too early, and not again.
    void tell() {
        far_.release();
        far_.store_word(word_, ++count_);
        far_.commit(word_, sizeof(*word_));
    }

   private:
    std::uint64_t* word_;
    Far far_;
    std::uint64_t count_ = 0;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The device's ends of objects that are lent to clients of other processes, one at a time. Each
// client has the object anew, empty, in memory of its own (lease.hpp says how the owner lends it):
// what a client has left there is never another's to go on with, so nothing of what it may have
// written need be believed. What was whole when the device learns that the client has gone is
// taken, a ring full at most; then the device says that it has left that memory.
//
// All that lies in that memory is a client's to write at any time. An end reads of it no more than
// its shape, which is the owner's, allows: garbage is taken for values, or for nothing.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/chunk_ring.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/mailbox.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/protocol/ring.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// After so many tries the lease is looked at: one load more than the object's own. A mailbox's end
// looks each time.
inline constexpr std::uint32_t tries_between_leases = 8;

// An end, and the lease that says where it works. For one thread.
template <class End, class Layout, class Near, class Far>
class Leased {
   public:
    CARILLON_HD Leased(LeaseTable const& table, unsigned reader, ObjectShape const& shape)
        : end_(of_nothing(table, shape)), lease_(table, reader), shape_(shape) {}

    // Whether there is memory to look into.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool attend() {
        if (stage_ == Stage::lent && until_look_-- != 0) [[likely]]
            return true;
        if (stage_ == Stage::ending) return true;
        until_look_ = tries_between_leases;
        return heed(look());
    }
    // What the line says now: whoever finds is_news() heeds it.
    using News = typename LeaseReader<Near, Far>::News;
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD News look() const { return lease_.look(); }
    [[nodiscard]] CARILLON_HD bool is_news(News const& line) const {
        return line.number != seen_ || line.own_sets != own_sets_;
    }
    // As attend().
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool heed(News const& line) {
        if (line.own_sets != own_sets_) [[unlikely]] {
            own_sets_ = lease_.own_sets();
            set_by_owner_ = true;
        }
        if (line.number == seen_) return stage_ == Stage::lent;
        std::uint64_t const number = lease_.number();
        // One that is over, and was never looked into, is looked into all the same: its place stays
        // until this end has left it. Of a lease 0 there is none. What was handed out of a place
        // that is lent again is not handed out once more.
        if (stage_ == Stage::none) begin();
        seen_ = number;
        stage_ = is_leased(number) ? Stage::lent : Stage::ending;
        rest_ = shape_.capacity;
        return true;
    }
    // Whether its client has gone: what is there is taken still, as long as may_take().
    [[nodiscard]] CARILLON_HD bool ending() const { return stage_ == Stage::ending; }
    [[nodiscard]] CARILLON_HD bool may_take() const { return !ending() || rest_ != 0; }
    CARILLON_HD void took() {
        if (ending()) --rest_;
    }
    // Nothing of the memory is touched any more.
    CARILLON_POLICY_CODE
    CARILLON_HD void leave() {
        stage_ = Stage::none;
        lease_.report_free(seen_);
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return stage_ == Stage::lent; }
    // Whether the owner has set the object, and that was not taken.
    [[nodiscard]] CARILLON_HD bool set_by_owner() const { return set_by_owner_; }
    CARILLON_HD void took_own() { set_by_owner_ = false; }
    [[nodiscard]] CARILLON_HD End& end() { return end_; }
    [[nodiscard]] CARILLON_HD ObjectShape const& shape() const { return shape_; }

   private:
    enum class Stage : std::uint32_t { none, lent, ending };

    CARILLON_POLICY_CODE
    CARILLON_HD void begin() {
        std::uint64_t const begun = lease_.begun();
        if (begun == begun_) return;
        begun_ = begun;
        end_ = End(Layout::view(shape_, lease_.place()));
    }
    // Somewhere that is there, and not looked at.
    [[nodiscard]] CARILLON_HD static End of_nothing(LeaseTable const& table,
                                                    ObjectShape const& shape) {
        auto* const somewhere = reinterpret_cast<std::byte*>(table.lines);
        ObjectShape small = shape;
        small.capacity = 1;
        small.chunk_bytes = 0;
        ChannelTable const at{somewhere, somewhere, 1, {}, Sequence{1} << 62U, nullptr, false};
        return End(Layout::view(small, at));
    }

    End end_;
    Stage stage_ = Stage::none;
    bool set_by_owner_ = false;
    std::uint32_t until_look_ = 0;
    std::uint32_t rest_ = 0;  // takes that are left of a client that has gone
    std::uint64_t seen_ = 0;
    std::uint64_t begun_ = 0;  // the lease that laid out what end_ looks at
    std::uint64_t own_sets_ = 0;
    LeaseReader<Near, Far> lease_;
    ObjectShape shape_;
};

// As MailboxReader's: what was set last stays until a client, or the owner, sets something else.
// The owner's values are in a mailbox of its own: of two that are new at once, its is the newer.
template <class T, class Near, class Far>
class LeasedMailboxReader {
   public:
    CARILLON_HD LeasedMailboxReader(LeaseTable const& table, unsigned reader,
                                    ObjectShape const& shape, MailboxReader<T, Near> const& own)
        : leased_(table, reader, shape), own_(own) {}

    // As MailboxReader::refresh.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool refresh(T& value) {
        // The two loads are under way together. Where the line has news, the client's value is
        // looked for once more, and the owner's is handed out last.
        auto const line = leased_.look();
        bool const news = leased_.has_client() && leased_.end().refresh(value);
        if (!leased_.is_news(line) && !leased_.set_by_owner()) [[likely]]
            return news;
        return refresh_anew(line, value) || news;
    }
    // Whether a client had it when that was looked at last.
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    using Ends = Leased<MailboxReader<T, Near>, MailboxLayout, Near, Far>;

    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool refresh_anew(typename Ends::News const& line, T& value) {
        bool news = false;
        if (leased_.heed(line)) {
            news = leased_.end().refresh(value);
            if (leased_.ending()) leased_.leave();
        }
        if (leased_.set_by_owner() && own_.refresh(value)) {
            leased_.took_own();
            news = true;
        }
        return news;
    }

    Ends leased_;
    MailboxReader<T, Near> own_;
};

template <class T, class Near, class Far>
class LeasedConsumer {
   public:
    CARILLON_HD LeasedConsumer(LeaseTable const& table, unsigned reader, ObjectShape const& shape)
        : leased_(table, reader, shape) {}

    // As Consumer::try_pop.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool try_pop(T& message) {
        if (!leased_.attend()) return false;
        bool const taken = leased_.may_take() && leased_.end().try_pop(message);
        if (taken) leased_.took();
        if (!taken && leased_.ending()) leased_.leave();
        return taken;
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    Leased<Consumer<T, Near, Far>, RingToDeviceLayout, Near, Far> leased_;
};

template <class T, class Near, class Far>
class LeasedProducer {
   public:
    CARILLON_HD LeasedProducer(LeaseTable const& table, unsigned reader, ObjectShape const& shape)
        : leased_(table, reader, shape) {}

    // As Producer::try_push; false, too, while there is no client: nobody has missed it.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return look() && leased_.end().try_push(message, data);
    }
    // For a kernel that has nothing to push for a while: what a push looks at. Whether there is a
    // client. While nobody looks, the memory of one that has gone is not the next one's.
    CARILLON_POLICY_CODE
    CARILLON_HD bool look() {
        if (!leased_.attend()) return false;
        if (!leased_.ending()) return true;
        leased_.leave();
        return false;
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    Leased<Producer<T, Far, Near>, RingToHostLayout, Near, Far> leased_;
};

// A chunk stays readable until it is released, whatever has become of its client, and longer than
// that no memory is kept.
template <class Meta, class Near, class Far>
class LeasedChunkReader {
   public:
    CARILLON_HD LeasedChunkReader(LeaseTable const& table, unsigned reader,
                                  ObjectShape const& shape)
        : leased_(table, reader, shape) {}

    // As ChunkConsumer::try_take. A size that the chunk does not have is its client's lie: the
    // chunk's own is said instead.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool try_take(ChunkView<Meta>& chunk) {
        if (!leased_.attend()) return false;
        auto& end = leased_.end();
        Sequence const before = end.next();
        bool const taken = leased_.may_take() && end.try_take(chunk);
        bool const skipped = end.next() != before;
        if (taken || skipped) leased_.took();
        if (taken) {
            last_taken_ = chunk.sequence;
            holds_ = true;
            if (chunk.size > leased_.shape().chunk_bytes) chunk.size = leased_.shape().chunk_bytes;
        }
        bool const over = !taken && !skipped;
        if (over && !holds_ && leased_.ending()) leased_.leave();
        return taken;
    }
    // As ChunkConsumer::release.
    CARILLON_POLICY_CODE
    CARILLON_HD bool release(Sequence sequence) {
        bool const released = leased_.end().release(sequence);
        if (sequence == last_taken_) holds_ = false;
        return released;
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    Leased<ChunkConsumer<Meta, Near, Far>, ChunkRingLayout, Near, Far> leased_;
    // Whether any that was handed out is not released: kept here, since the lines are the client's.
    bool holds_ = false;
    Sequence last_taken_ = 0;
};

}  // namespace carillon::detail

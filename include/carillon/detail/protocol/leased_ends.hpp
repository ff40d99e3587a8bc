// SPDX-License-Identifier: Apache-2.0
// The device's ends of SharedMailbox, SharedRing and SharedChunkRing, which are leased to one
// client of another process at a time. Each client gets the object empty, in its own memory
// (lease.hpp has the leasing). No later client gets the content that a client left, so the device
// never has to trust it. When the device learns that the client has left, it takes the whole
// messages that are there, at most a ring full; then it reports that it has left that memory.
//
// A client can write all of that memory at any time. An end reads no more of it than the shape,
// which is the owner's, allows: it takes garbage for values, or for nothing.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// An end looks at the lease after this many tries: one load more than the object's own. A mailbox's
// end looks each time.
inline constexpr std::uint32_t tries_between_leases = 8;

// An end, and the lease that says where it works. For one thread.
template <class End, class Layout, class Near, class Far>
class Leased {
   public:
    CARILLON_HD Leased(LeaseTable const& table, unsigned reader, ObjectShape const& shape)
        : end_(of_nothing(table, shape)), lease_(table, reader), shape_(shape) {}

    // Follows the lease. Returns whether there is memory to look into.
    [[nodiscard]] CARILLON_HD bool attend() {
        if (stage_ == Stage::lent && until_look_-- != 0) [[likely]]
            return true;
        if (stage_ == Stage::ending) return true;
        until_look_ = tries_between_leases;
        return follow(look());
    }
    // Looks at the line; if is_news(), call follow() with it.
    using News = typename LeaseReader<Near, Far>::News;
    [[nodiscard]] CARILLON_HD News look() const { return lease_.look(); }
    [[nodiscard]] CARILLON_HD bool is_news(News const& line) const {
        return line.number != seen_ || line.own_sets != own_sets_;
    }
    // Follows the lease, like attend(), after the line was looked at.
    [[nodiscard]] CARILLON_HD bool follow(News const& line) {
        if (line.own_sets != own_sets_) [[unlikely]] {
            own_sets_ = lease_.own_sets();
            set_by_owner_ = true;
        }
        if (line.number == seen_) return stage_ == Stage::lent;
        std::uint64_t const number = lease_.number();
        // A lease that is over, but was never looked into, is still looked into: its place stays
        // until this end has left it. Lease 0 never existed. A place that is leased again does not
        // begin again: messages are not handed out twice.
        if (stage_ == Stage::none) begin();
        seen_ = number;
        stage_ = is_leased(number) ? Stage::lent : Stage::ending;
        rest_ = shape_.capacity;
        return true;
    }
    // Whether its client has left: the remaining messages are taken while may_take() is true.
    [[nodiscard]] CARILLON_HD bool ending() const { return stage_ == Stage::ending; }
    [[nodiscard]] CARILLON_HD bool may_take() const { return !ending() || rest_ != 0; }
    CARILLON_HD void took() {
        if (ending()) --rest_;
    }
    // Call it when the memory is no longer accessed.
    CARILLON_HD void leave() {
        stage_ = Stage::none;
        lease_.report_free(seen_);
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return stage_ == Stage::lent; }
    // Whether the owner has set the object to a value that was not taken yet.
    [[nodiscard]] CARILLON_HD bool set_by_owner() const { return set_by_owner_; }
    CARILLON_HD void took_own() { set_by_owner_ = false; }
    [[nodiscard]] CARILLON_HD End& end() { return end_; }
    [[nodiscard]] CARILLON_HD ObjectShape const& shape() const { return shape_; }

   private:
    enum class Stage : std::uint32_t { none, lent, ending };
    CARILLON_HD void begin() {
        std::uint64_t const begun = lease_.begun();
        if (begun == begun_) return;
        begun_ = begun;
        end_ = End(Layout::view(shape_, lease_.place()));
    }
    // An end at some existing address, which it never accesses.
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
    std::uint32_t rest_ = 0;  // takes that are left after the client has gone
    std::uint64_t seen_ = 0;
    std::uint64_t begun_ = 0;  // the lease that laid out end_'s memory
    std::uint64_t own_sets_ = 0;
    LeaseReader<Near, Far> lease_;
    ObjectShape shape_;
};

// Reads like a MailboxReader: the last value stays until a client or the owner sets another. The
// owner's values are in a separate mailbox: if both are new, the owner's counts as the newer one.
template <class T, class Near, class Far>
class LeasedMailboxReader {
   public:
    CARILLON_HD LeasedMailboxReader(LeaseTable const& table, unsigned reader,
                                    ObjectShape const& shape, MailboxReader<T, Near> const& own)
        : leased_(table, reader, shape), own_(own) {}

    // See MailboxReader::refresh.
    [[nodiscard]] CARILLON_HD bool refresh(T& value) {
        // The two loads are in flight together. If the line has news, it looks for the client's
        // value once more, and hands out the owner's value last.
        auto const line = leased_.look();
        bool const news = leased_.has_client() && leased_.end().refresh(value);
        if (!leased_.is_news(line) && !leased_.set_by_owner()) [[likely]]
            return news;
        return refresh_anew(line, value) || news;
    }
    // Whether a client had it at the last look.
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    using Ends = Leased<MailboxReader<T, Near>, MailboxLayout, Near, Far>;
    [[nodiscard]] CARILLON_HD bool refresh_anew(typename Ends::News const& line, T& value) {
        bool news = false;
        if (leased_.follow(line)) {
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

    // See Consumer::try_pop.
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

    // See Producer::try_push. Without a client it drops the message and returns false.
    [[nodiscard]] CARILLON_HD bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return look() && leased_.end().try_push(message, data);
    }
    // Does a push's look at the lease, for a kernel that pushes nothing for a while. Returns
    // whether there is a client. The next client does not get in until the end looks.
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

// A chunk stays readable until it is released, even if its client has left.
template <class Meta, class Near, class Far>
class LeasedChunkReader {
   public:
    CARILLON_HD LeasedChunkReader(LeaseTable const& table, unsigned reader,
                                  ObjectShape const& shape)
        : leased_(table, reader, shape) {}

    // See ChunkConsumer::try_take. If a client claims a size beyond the chunk's, the chunk's own
    // size is used.
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
    // See ChunkConsumer::release.
    CARILLON_HD bool release(Sequence sequence) {
        bool const released = leased_.end().release(sequence);
        if (sequence == last_taken_) holds_ = false;
        return released;
    }
    [[nodiscard]] CARILLON_HD bool has_client() const { return leased_.has_client(); }

   private:
    Leased<ChunkConsumer<Meta, Near, Far>, ChunkRingLayout, Near, Far> leased_;
    // Whether a handed-out chunk is unreleased. It is kept here: the client can write the lines.
    bool holds_ = false;
    Sequence last_taken_ = 0;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

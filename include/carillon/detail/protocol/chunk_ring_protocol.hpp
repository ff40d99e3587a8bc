// SPDX-License-Identifier: Apache-2.0
// The protocol of ChunkRing: large buffers in the memory of the consumer's side, each handed over
// by a line.
//
// Ownership in one sentence: a chunk belongs to the producer from its claim until its line's four
// tags are there, to the consumer until the credit word has reached that line's sequence number,
// and then to the producer again.
//
//     memory of the consumer's side                       memory of the producer's side
//     +---------+---------+-- ... --+---------+           +------------------------------------+
//     | chunk 0 | chunk 1 |         | chunk n |           | credit: last sequence *released*   |
//     +---------+---------+-- ... --+---------+           +------------------------------------+
//     | line 0  | line 1  |         | line n  |
//     +---------+---------+-- ... --+---------+
//
// The chunk of line s is number (s - 1) mod chunks, and so is the line's slot. Therefore claimed
// chunks may be committed in any order; the consumer takes them in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// One side's view of a ring of chunks. Trivially copyable.
struct ChunkRingView {
    RingView ring;  // the lines that hand chunks over; its credit means released, not taken
    std::byte* data;
    std::size_t stride;  // bytes from one chunk to the next

    [[nodiscard]] CARILLON_HD std::byte* chunk(Sequence sequence) const {
        return data + ((sequence - 1) & (ring.capacity - 1)) * stride;
    }
};

// The metadata of a chunk that needs none.
struct NoMeta {};

// The first 8 bytes of every line.
struct ChunkState {
    std::uint32_t used;     // bytes
    std::uint32_t dropped;  // 1 for a chunk that was given up: the consumer skips it
};

template <class Meta>
struct ChunkMessage {
    ChunkState state;
    Meta meta;
};

// A taken chunk as a block's shared variable, for any Meta.
struct TakenChunk {
    Line line;
    Sequence sequence;  // 0 for none
};

// The compile-time contract of a chunk's metadata; the user sees the texts.
template <class Meta>
CARILLON_HD constexpr void check_meta() {
    static_assert(std::is_trivially_copyable_v<Meta>,
                  "carillon: a chunk's metadata must be trivially copyable: its bytes cross a bus");
    static_assert(sizeof(ChunkMessage<Meta>) <= payload_bytes,
                  "carillon: a chunk's metadata must be at most 40 bytes: it travels in one line");
}

// A chunk for its consumer, valid until it is released.
template <class Meta>
struct ChunkView {
    std::byte const* data;  // in device memory
    std::size_t size;       // bytes that the producer used
    Meta meta;              // metadata of the commit
    Sequence sequence;      // for release()
};

// The end that fills chunks. Far accesses the lines, Near the credit word. The user writes the data
// by plain stores, or by streaming stores (copy.hpp).
template <FarAccess Far, WordAccess Near>
class ChunkProducer {
   public:
    CARILLON_HD explicit ChunkProducer(ChunkRingView const& view, Far far = Far(),
                                       Near near = Near())
        : view_(view),
          next_(view.ring.first),
          free_until_(view.ring.first - 1 + view.ring.capacity),
          far_(far),
          near_(near) {}

    // Claims the next chunk and returns its sequence number, or 0 at once if none is free. Several
    // may be claimed ahead. One thread at a time.
    [[nodiscard]] CARILLON_HD Sequence try_claim() {
        if (next_ > free_until_) look_at_credit();
        if (next_ > free_until_) return 0;
        return next_++;
    }

    // Hands over the chunk, whose first `used` bytes were written. Claimed chunks may be committed
    // in any order and by any threads: a commit touches only the chunk and its line. Writes of
    // other threads must have left them, see flush().
    template <class Meta>
    CARILLON_HD void commit(Sequence sequence, std::uint32_t used, Meta const& meta) const {
        store(sequence, used, meta);
        send(sequence);
    }

    // The two parts of a commit, for non-coherent memory, whose flush may throw. After an exception
    // of store() the caller still has the chunk, to commit or drop; after one of send() the chunk
    // is handed over, and its line leaves with the next flush of that memory.
    template <class Meta>
    CARILLON_HD void store(Sequence sequence, std::uint32_t used, Meta const& meta) const {
        check_meta<Meta>();
        flush(sequence, used);
        store(sequence, pack(ChunkMessage<Meta>{{used, 0}, meta}, tag_of(sequence)));
    }
    // K5, through H2: the line leaves now; without it the consumer may wait forever.
    CARILLON_HD void send(Sequence sequence) const {
        far_.commit(view_.ring.slot(sequence), sizeof(Line));
    }

    // Gives the chunk up: the consumer skips it, so that no chunk after it waits.
    CARILLON_HD void drop(Sequence sequence) const {
        store(sequence, pack(ChunkState{0, 1}, tag_of(sequence)));
        send(sequence);
    }

    // K5, for the data: the calling thread's writes to the first `size` bytes of the chunk leave
    // this side.
    CARILLON_HD void flush(Sequence sequence, std::size_t size) const {
        far_.commit(view_.chunk(sequence), size);
    }

    [[nodiscard]] CARILLON_HD std::byte* data(Sequence sequence) const {
        return view_.chunk(sequence);
    }

   private:
    CARILLON_HD void store(Sequence sequence, Line const& line) const {
        // K1, pairs with K2: the data are complete before the line that hands them over; otherwise
        // the consumer could read the chunk's old content.
        far_.release();
        far_.store_line(view_.ring.slot(sequence), line, tag_of(sequence - view_.ring.capacity));
    }

    // K4, pairs with K3: the load is an acquire, so the chunk is written after it was read;
    // otherwise its reader could find the next chunk's data. An impossible credit frees nothing.
    CARILLON_HD void look_at_credit() {
        Sequence const released = near_.load_word(view_.ring.credit);
        if (next_ - 1 - released > view_.ring.capacity) return;
        free_until_ = released + view_.ring.capacity;
    }

    ChunkRingView view_;
    Sequence next_;
    Sequence free_until_;  // every chunk up to this number is free or claimed
    Far far_;
    Near near_;
};

// The end that reads chunks. Near accesses the lines, Far the credit word.
template <class Meta, NearAccess Near, FarAccess Far>
class ChunkConsumer {
   public:
    CARILLON_HD explicit ChunkConsumer(ChunkRingView const& view, Near near = Near(),
                                       Far far = Far())
        : view_(view),
          next_(view.ring.first),
          released_(view.ring.first - 1),
          near_(near),
          far_(far) {
        check_meta<Meta>();
    }

    // Takes the next chunk and returns true, or returns false at once if it was not handed over
    // yet. The chunk may be read until release(); other chunks, up to all, may be taken meanwhile.
    [[nodiscard]] CARILLON_HD bool try_take(ChunkView<Meta>& chunk) {
        Line line;
        Sequence const sequence = try_take(line);
        if (sequence == 0) return false;
        chunk = view(sequence, line);
        return true;
    }

    // Takes the line itself and returns its sequence number, or 0.
    [[nodiscard]] CARILLON_HD Sequence try_take(Line& line) {
        // K2, pairs with K1: the load is an acquire, so the chunk is read after it; otherwise it
        // could be read before it is filled.
        line = near_.load_line(view_.ring.slot(next_));
        if (!has_arrived(line, tag_of(next_))) return 0;
        Sequence const taken = next_++;
        if (!is_dropped(line)) return taken;
        keep_whole(near_, line.quads, quads_per_line);
        last_dropped_ = taken;
        if (released_ + 1 == taken) (void)release(taken);  // else with the chunks before it
        return 0;
    }

    // Decodes a line that was taken.
    [[nodiscard]] CARILLON_HD ChunkView<Meta> view(Sequence sequence, Line const& line) const {
        auto const message = unpack<ChunkMessage<Meta>>(line);
        return {view_.chunk(sequence), message.state.used, message.meta, sequence};
    }

    // Gives back the chunk `sequence` and all that were taken before it: they are no longer read.
    // Release in order: a number that was not taken, or was released before, changes nothing and
    // returns false. If several threads read the chunk, they meet at a barrier first, and one
    // releases.
    CARILLON_HD bool release(Sequence sequence) {
        if (sequence <= released_ || sequence >= next_) return false;
        released_ = sequence;
        while (released_ < last_dropped_ && was_dropped(released_ + 1)) ++released_;
        return_credit();
        return true;
    }

    // The number of the next chunk to take, and of the last released chunk.
    [[nodiscard]] CARILLON_HD Sequence next() const { return next_; }
    [[nodiscard]] CARILLON_HD Sequence released() const { return released_; }

   private:
    [[nodiscard]] CARILLON_HD static bool is_dropped(Line const& line) {
        return unpack<ChunkState>(line).dropped != 0;
    }
    // For a chunk that was taken (K2) and not released, whose line is still there.
    [[nodiscard]] CARILLON_HD bool was_dropped(Sequence sequence) const {
        return is_dropped(near_.load_line(view_.ring.slot(sequence)));
    }

    // K3, pairs with K4: all reads of the chunks come before the credit leaves; otherwise the
    // producer could fill a chunk that is still being read. It needs a fence: data are read by
    // plain loads, which nothing else keeps ahead of a store.
    CARILLON_HD void return_credit() const {
        far_.release();
        far_.store_word(view_.ring.credit, released_);
        far_.commit(view_.ring.credit, sizeof(*view_.ring.credit));
    }

    ChunkRingView view_;
    Sequence next_;
    Sequence released_;
    Sequence last_dropped_ = 0;
    Near near_;
    Far far_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

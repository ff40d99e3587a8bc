// SPDX-License-Identifier: Apache-2.0
// `ChunkRing`, for streams of data that do not fit into lines, such as a radio telescope's: a ring
// of large buffers in device memory that the CPU fills in place and a kernel reads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "carillon/wait.hpp"

namespace carillon {

using detail::ChunkRingView;
using detail::ChunkView;
using detail::DeviceClock;
using detail::NoMeta;

class Arena;
class CARILLON_LAYOUT Connection;
class CARILLON_LAYOUT Device;

struct ChunkRingOptions {
    std::size_t chunk_bytes = 65536;  // at least 1, under 4 GiB
    std::uint32_t chunks = 16;        // a power of two from 2 to 2^20
    // How the CPU waits; by default HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    ForTests for_tests{};
};

// The device's end for one thread. It is trivially copyable: pass it to a kernel by value, once.
template <class Meta>
using DeviceChunkReader = detail::ChunkConsumer<Meta, detail::DeviceNear, detail::DeviceFar>;

namespace detail {

// Makes the parts of this process's own ring, whose chunks lie in memory of `device` or in a piece
// of `arena`. Throws what ChunkRing's constructor throws.
[[nodiscard]] ObjectEnd<ChunkRingView> own_chunk_ring(Device const* device, Arena const* arena,
                                                      ChunkRingOptions const& options);

// The part of a ring on the host that does not depend on `Meta`; claimed chunks keep it alive.
class ChunkRingState {
   public:
    explicit ChunkRingState(ObjectEnd<ChunkRingView> end);

    // The device's end. Throws UsageError for a ring that another process lends.
    [[nodiscard]] ChunkRingView const& device_view() const {
        end_.lent_by.require_own_end();
        return end_.device;
    }
    // Records that `giver`, a public call, gave out the device's end.
    void take(std::string_view giver, CodeLocation const& where) {
        taken_.take(giver, where, {end_.device.ring.base, end_.device.ring.credit});
    }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }
    [[nodiscard]] std::uint32_t chunks() const { return end_.view.ring.capacity; }
    [[nodiscard]] std::size_t chunk_bytes() const { return end_.chunk_bytes; }
    [[nodiscard]] ChunkProducer<HostMapped, HostCached>& producer() { return producer_; }
    // See LentBy::require_there().
    void require_there() const { end_.lent_by.require_there(); }
    // Both return a chunk's number. If no chunk is free, try_claim() returns 0, and claim() throws
    // TimeoutError after `timeout`.
    [[nodiscard]] Sequence try_claim() {
        require_there();
        return producer_.try_claim();
    }
    [[nodiscard]] Sequence claim(std::chrono::nanoseconds timeout);

    void fill(Sequence sequence, std::size_t offset, std::span<std::byte const> from) const;
    // Throws UsageError for bytes outside a chunk.
    void require(std::size_t offset, std::size_t size) const;

   private:
    ProcessMark mark_;
    ObjectEnd<ChunkRingView> end_;
    StoreKind copy_;
    ChunkProducer<HostMapped, HostCached> producer_;
    TakenOnce taken_;
};

// The metadata beside a chunk, a type or bytes.
template <class Meta>
struct MetaOf : MessageOf<Meta> {
    using DeviceTakes = DeviceChunkReader<Meta>;

    using MessageOf<Meta>::MessageOf;

    // The default argument of commit().
    [[nodiscard]] static Meta none() { return Meta(); }
};

}  // namespace detail

template <class Meta>
class ChunkRing;

// A claimed chunk, independent of the type of its metadata.
class ClaimedChunk {
   public:
    ClaimedChunk(ClaimedChunk&&) noexcept = default;
    // Gives up the chunk that this object had before.
    ClaimedChunk& operator=(ClaimedChunk&& other) noexcept {
        if (this != &other) {
            give_up();
            state_ = std::move(other.state_);
            sequence_ = other.sequence_;
        }
        return *this;
    }
    ~ClaimedChunk() { give_up(); }

    // The chunk's bytes, to be written in place. They are usually write-combining memory: write
    // whole lines, in order, and do not read.
    [[nodiscard]] std::span<std::byte> bytes() const;
    // Copies `from` to byte `offset` on by streaming stores. Throws UsageError for bytes that do
    // not fit and for a null pointer.
    void fill(std::size_t offset, std::span<std::byte const> from) const;
    // Pushes the calling thread's writes out. Call it in a thread that fills a chunk, or a part of
    // one, which another thread commits.
    void flush() const;
    // The chunk's number, from 1 in the order of claims.
    [[nodiscard]] Sequence sequence() const { return sequence_; }

   protected:
    ClaimedChunk(std::shared_ptr<detail::ChunkRingState> state, Sequence sequence) noexcept
        : state_(std::move(state)), sequence_(sequence) {}
    // Checks that `used` bytes of the chunk can be committed.
    [[nodiscard]] detail::ChunkProducer<detail::HostMapped, detail::HostCached> const&
    require_commit(std::size_t used) const;
    [[nodiscard]] std::shared_ptr<detail::ChunkRingState> let_go() noexcept {
        return std::exchange(state_, nullptr);
    }

   private:
    [[nodiscard]] detail::ChunkRingState& state() const;
    void give_up() noexcept;

    std::shared_ptr<detail::ChunkRingState> state_;  // empty: committed, or moved away
    Sequence sequence_;
};

// A chunk that the CPU has claimed and fills. Move-only; it may go to another thread. Several
// threads may commit chunks at once and in any order. Destroying a chunk without commit() gives it
// up: the kernel neither sees it nor waits for it. A chunk keeps the ring's memory alive.
template <class Meta>
class Chunk : public ClaimedChunk {
    using Beside = detail::MetaOf<Meta>;

   public:
    // Hands the chunk's first `used` bytes and `meta` to the kernel; this object then has no chunk.
    // Throws UsageError if the chunk has fewer bytes (it can still be committed) or is gone
    // already; OwnerGoneError and StoppedError, see try_claim(): nobody has the chunk then; and, on
    // non-coherent memory only, VulkanError: the chunk can still be committed, unless only its line
    // is unflushed. In that case the chunk is gone, and the next flush pushes the line out.
    void commit(std::size_t used, typename Beside::Given meta = Beside::none()) {
        detail::in_call("Chunk::commit", [&] {
            auto const& producer = this->require_commit(used);
            producer.store(sequence(), static_cast<std::uint32_t>(used), beside_.wire(meta));
            let_go()->producer().send(sequence());
        });
    }

   private:
    friend class ChunkRing<Meta>;
    Chunk(std::shared_ptr<detail::ChunkRingState> ring, Sequence sequence, Beside const& beside)
        : ClaimedChunk(std::move(ring), sequence), beside_(beside) {}

    [[no_unique_address]] Beside beside_;
};

// The device's end for a block, all of whose threads call every member function. Pass it to a
// kernel by value, once. On the emulated device one thread is the block.
template <class Meta>
class BlockChunkReader {
   public:
    // ChunkRing::block_handle() calls this.
    CARILLON_HD explicit BlockChunkReader(ChunkRingView const& view) : reader_(view) {}

    // See ChunkConsumer::try_take. All threads get the same result, and each may read the chunk.
    [[nodiscard]] CARILLON_HD bool try_take(ChunkView<Meta>& chunk) {
        auto& taken = block::shared<detail::TakenChunk, BlockChunkReader>();
        if (block::thread_rank() == 0) taken.sequence = reader_.try_take(taken.line);
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        Sequence const sequence = taken.sequence;
        if (sequence != 0) chunk = reader_.view(sequence, taken.line);
        // All threads must have read `taken` before the next chunk overwrites it.
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        return sequence != 0;
    }

    // Calls ChunkConsumer::release once every thread has called this. Its result is dropped.
    CARILLON_HD void release(Sequence sequence) {
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        if (block::thread_rank() == 0) (void)reader_.release(sequence);
    }

   private:
    DeviceChunkReader<Meta> reader_;
};

// Streams chunks to a kernel. `Meta`, the data beside a chunk, is trivially copyable and at most 40
// bytes, or is Bytes: 0 to 40 bytes, a span for commit(). One thread at a time claims.
template <class Meta = NoMeta>
class ChunkRing {
    static_assert((detail::check_meta<Meta>(), true));
    using Beside = detail::MetaOf<Meta>;
    static constexpr bool by_bytes = detail::IsBytes<Meta>;

   public:
    using DeviceEnd = typename Beside::DeviceTakes;  // the type of device_handle()
    using BlockEnd = BlockChunkReader<Meta>;         // the type of block_handle()

    // Throws UsageError for the options, and what Device::allocate throws.
    explicit ChunkRing(Device const& device,
                       ChunkRingOptions const& options = {}) requires(!by_bytes)
        : ChunkRing({}, detail::own_chunk_ring(&device, nullptr, options)) {}
    // Puts the chunks into a piece of `arena`, whose memory they keep alive.
    explicit ChunkRing(Arena const& arena, ChunkRingOptions const& options = {}) requires(!by_bytes)
        : ChunkRing({}, detail::own_chunk_ring(nullptr, &arena, options)) {}
    // Has `bytes` bytes beside each chunk. Also throws UsageError for that number.
    ChunkRing(Device const& device, std::size_t bytes,
              ChunkRingOptions const& options = {}) requires by_bytes
        try : ChunkRing(Beside(device, bytes), detail::own_chunk_ring(&device, nullptr, options)) {
    } catch (...) {
        detail::throw_named("ChunkRing");
    }

    ChunkRing(ChunkRing const&) = default;  // and moves: it is a handle, copies share the ring
    ChunkRing& operator=(ChunkRing const&) = default;
    ~ChunkRing() = default;

    // The device's end, for one thread of a kernel or for all threads of a block. A ring gives out
    // one of the two, once. Later calls throw UsageError, and so does a call for a ring of another
    // process (Connection::chunk_ring). For Bytes see Ring::device_handle.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("ChunkRing::device_handle", [&] {
            auto const end = beside_.template device_end<DeviceEnd>(state_->device_view());
            state_->take("ChunkRing::device_handle", where);
            return end;
        });
    }
    [[nodiscard]] BlockEnd block_handle(CodeLocation const& where = CodeLocation::current()) const
        requires(!by_bytes) {
        return detail::in_call("ChunkRing::block_handle", [&] {
            BlockEnd const end(state_->device_view());
            state_->take("ChunkRing::block_handle", where);
            return end;
        });
    }

    // Returns the next chunk, or nothing if the kernel has not released one. A program can hold
    // several at once. For a ring of another process, throws OwnerGoneError if that process has
    // ended, and StoppedError if it has destroyed the ring.
    [[nodiscard]] std::optional<Chunk<Meta>> try_claim() {
        return detail::in_call("ChunkRing::try_claim", state_.get(), state_->mark(), [&] {
            Sequence const sequence = state_->try_claim();
            return sequence != 0 ? std::optional(Chunk<Meta>(state_, sequence, beside_))
                                 : std::nullopt;
        });
    }
    // Returns the next chunk, waiting for it. Throws TimeoutError, and what try_claim() throws.
    [[nodiscard]] Chunk<Meta> claim(std::chrono::nanoseconds timeout) {
        return detail::in_call("ChunkRing::claim", state_.get(), state_->mark(), [&] {
            return Chunk<Meta>(state_, state_->claim(timeout), beside_);
        });
    }

    // The number of chunks, and the bytes of each as requested.
    [[nodiscard]] std::uint32_t chunks() const { return state_->chunks(); }
    [[nodiscard]] std::size_t chunk_bytes() const { return state_->chunk_bytes(); }
    [[nodiscard]] std::size_t meta_bytes() const requires by_bytes { return beside_.bytes(); }

   private:
    static_assert(by_bytes || std::is_trivially_copyable_v<DeviceEnd>);
    static_assert(std::is_trivially_copyable_v<BlockEnd>);

    friend class Connection;  // for a ring that another process lends
    ChunkRing(Beside const& beside, detail::ObjectEnd<ChunkRingView> end)
        : state_(std::make_shared<detail::ChunkRingState>(std::move(end))), beside_(beside) {}

    std::shared_ptr<detail::ChunkRingState> state_;
    [[no_unique_address]] Beside beside_;
};

}  // namespace carillon

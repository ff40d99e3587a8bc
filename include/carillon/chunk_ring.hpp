// SPDX-License-Identifier: Apache-2.0
// A ring of large buffers in device memory that the CPU fills in place and a kernel reads: for
// streams, as a radio telescope's, whose data do not fit into lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "carillon/arena.hpp"
#include "carillon/block.hpp"
#include "carillon/detail/access/device.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/chunk_ring_state.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/chunk_ring.hpp"
#include "carillon/device.hpp"
#include "carillon/for_tests.hpp"
#include "carillon/wait.hpp"

namespace carillon {

using detail::ChunkRingView;
using detail::ChunkView;
using detail::DeviceClock;
using detail::NoMeta;

class CARILLON_LAYOUT Connection;

struct ChunkRingOptions {
    std::size_t chunk_bytes = 65536;  // under 4 GiB
    std::uint32_t chunks = 16;        // a power of two from 2 on
    // How the CPU waits; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    ForTests for_tests{};
};

// The device's end for one thread. Trivially copyable: pass it to a kernel by value, once.
template <class Meta>
using DeviceChunkReader = detail::ChunkConsumer<Meta, detail::DeviceNear, detail::DeviceFar>;

namespace detail {

// The bytes or the type beside a chunk, as a chunk ring has to know it.
template <class Meta>
struct MetaOf : MessageOf<Meta> {
    using DeviceTakes = DeviceChunkReader<Meta>;

    using MessageOf<Meta>::MessageOf;

    // The default of commit().
    [[nodiscard]] static Meta none() { return Meta(); }
};

}  // namespace detail

template <class Meta>
class ChunkRing;

// A claimed chunk, without the type of what goes beside it.
class ClaimedChunk {
   public:
    ClaimedChunk(ClaimedChunk&&) noexcept = default;
    // What it had is given up.
    ClaimedChunk& operator=(ClaimedChunk&& other) noexcept {
        if (this != &other) {
            give_up();
            state_ = std::move(other.state_);
            sequence_ = other.sequence_;
        }
        return *this;
    }
    ClaimedChunk(ClaimedChunk const&) = delete;
    ClaimedChunk& operator=(ClaimedChunk const&) = delete;
    ~ClaimedChunk() { give_up(); }

    // The CPU's view of the chunk, to be written in place: it is write-combining as a rule, so
    // write whole lines, in order, and do not read.
    [[nodiscard]] std::span<std::byte> bytes() const;
    // Copies to byte `offset` on by streaming stores. Throws UsageError for what does not fit and
    // for a null pointer.
    void fill(std::size_t offset, std::span<std::byte const> from) const;
    // What the calling thread wrote leaves it: for a thread that fills a chunk, or a part of it,
    // which another thread will commit.
    void flush() const;
    // Its number, from 1 on in the order of claims.
    [[nodiscard]] Sequence sequence() const { return sequence_; }

   protected:
    ClaimedChunk(std::shared_ptr<detail::ChunkRingState> state, Sequence sequence) noexcept
        : state_(std::move(state)), sequence_(sequence) {}
    // Checks that so many bytes of the chunk can be committed.
    [[nodiscard]] detail::ChunkProducer<HostMapped, detail::HostCached> const& require_commit(
        std::size_t used) const;
    [[nodiscard]] std::shared_ptr<detail::ChunkRingState> let_go() noexcept {
        return std::exchange(state_, nullptr);
    }

   private:
    [[nodiscard]] detail::ChunkRingState& state() const;
    void give_up() noexcept;

    std::shared_ptr<detail::ChunkRingState> state_;  // none: committed, or moved away
    Sequence sequence_;
};

// A chunk that the CPU has claimed and fills. Move-only; it may go to another thread, and chunks
// may be committed in any order, from several threads at once. One that is destroyed without
// commit() is given up: the kernel does not see it, and waits for nothing. It keeps the ring's
// memory alive.
template <class Meta>
class Chunk : public ClaimedChunk {
    using Beside = detail::MetaOf<Meta>;

   public:
    // Hands the chunk's first `used` bytes to the kernel, and the chunk is no more. Throws
    // UsageError when it does not have so many (it can be committed still) or is no more already;
    // OwnerGoneError and StoppedError as try_claim(): nobody has the chunk then;
    // VulkanError (non-coherent memory only): it can be committed still, unless only its line is
    // left to be flushed. Then it is no more, and the line leaves with the next flush.
    void commit(std::size_t used, typename Beside::Given meta = Beside::none()) {
        detail::in_call("Chunk::commit", [&] {
            auto const& producer = require_commit(used);
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

// The device's end for all threads of a block, which all call every member function. Pass it to a
// kernel by value, once; on the emulated device one thread is the block.
template <class Meta>
class BlockChunkReader {
   public:
    // ChunkRing::block_handle makes it.
    CARILLON_HD explicit BlockChunkReader(ChunkRingView const& view) : reader_(view) {}

    // As ChunkConsumer::try_take, the same to every thread: each may read the chunk.
    [[nodiscard]] CARILLON_HD bool try_take(ChunkView<Meta>& chunk) {
        auto& taken = block::shared<detail::TakenChunk, BlockChunkReader>();
        if (block::thread_rank() == 0) taken.sequence = reader_.try_take(taken.line);
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        Sequence const sequence = taken.sequence;
        if (sequence != 0) chunk = reader_.view(sequence, taken.line);
        // The next one is not put in its place before all have seen it.
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        return sequence != 0;
    }

    // As ChunkConsumer::release, once every thread has called it; what it returns is not told.
    CARILLON_HD void release(Sequence sequence) {
        block::sync({"carillon/chunk_ring.hpp", __LINE__});
        if (block::thread_rank() == 0) (void)reader_.release(sequence);
    }

   private:
    DeviceChunkReader<Meta> reader_;
};

// `Meta` is trivially copyable and at most 40 bytes, or it is Bytes, 0 to 40 of them, which
// commit() takes as a span. One thread at a time claims.
template <class Meta = NoMeta>
class ChunkRing {
    static_assert((detail::check_meta<Meta>(), true));
    using Beside = detail::MetaOf<Meta>;
    static constexpr bool by_bytes = detail::IsBytes<Meta>;

   public:
    using DeviceEnd = typename Beside::DeviceTakes;  // what device_handle() gives
    using BlockEnd = BlockChunkReader<Meta>;         // what block_handle() gives

    // Throws UsageError for the options, and what Device::allocate throws.
    explicit ChunkRing(Device const& device,
                       ChunkRingOptions const& options = {}) requires(!by_bytes)
        : state_(std::make_shared<detail::ChunkRingState>(device, options, nullptr)) {}
    // The chunks are a piece of `arena`, which they keep alive.
    explicit ChunkRing(Arena const& arena, ChunkRingOptions const& options = {}) requires(!by_bytes)
        : state_(std::make_shared<detail::ChunkRingState>(arena.device(), options, &arena)) {}
    // With `bytes` bytes beside each chunk. Throws UsageError for that number, too.
    ChunkRing(Device const& device, std::size_t bytes,
              ChunkRingOptions const& options = {}) requires by_bytes
        try : state_(std::make_shared<detail::ChunkRingState>(device, options, nullptr)),
        beside_(device, bytes) {
    } catch (...) {
        detail::throw_named("ChunkRing");
    }

    ChunkRing(ChunkRing const&) = default;  // and moves: a handle, copies share the ring
    ChunkRing& operator=(ChunkRing const&) = default;
    ~ChunkRing() = default;

    // The device's end, for a kernel: for one thread of it, or for all threads of a block. Either
    // throws UsageError when one of the two was taken, and for a ring of another process
    // (Connection::chunk_ring). That of bytes is for a thread that stands in for a kernel, as
    // Ring's.
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
        state_->take("ChunkRing::block_handle", where);
        return BlockEnd(state_->device_view());
    }

    // The next chunk, or nothing when the kernel has not released one. Several can be had at once.
    // Where another process has lent the ring throws OwnerGoneError if that one has ended, and
    // StoppedError if it has destroyed the ring.
    [[nodiscard]] std::optional<Chunk<Meta>> try_claim() {
        return detail::in_call("ChunkRing::try_claim", state_.get(), state_->mark(), [&] {
            Sequence const sequence = state_->try_claim();
            return sequence != 0 ? std::optional(Chunk<Meta>(state_, sequence, beside_))
                                 : std::nullopt;
        });
    }
    // The next chunk. Throws TimeoutError, and as try_claim().
    [[nodiscard]] Chunk<Meta> claim(std::chrono::nanoseconds timeout) {
        return detail::in_call("ChunkRing::claim", state_.get(), state_->mark(), [&] {
            return Chunk<Meta>(state_, state_->claim(timeout), beside_);
        });
    }

    // How many chunks there are, and how many bytes each has, as asked for.
    [[nodiscard]] std::uint32_t chunks() const { return state_->chunks(); }
    [[nodiscard]] std::size_t chunk_bytes() const { return state_->chunk_bytes(); }
    [[nodiscard]] std::size_t meta_bytes() const requires by_bytes { return beside_.bytes(); }

   private:
    static_assert(by_bytes || std::is_trivially_copyable_v<DeviceEnd>);
    static_assert(std::is_trivially_copyable_v<BlockEnd>);

    // Of a ring that another process lends.
    friend class Connection;
    ChunkRing(Beside const& beside, std::shared_ptr<detail::ChunkRingState> state)
        : state_(std::move(state)), beside_(beside) {}

    std::shared_ptr<detail::ChunkRingState> state_;
    [[no_unique_address]] Beside beside_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
#include "carillon/chunk_ring.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "carillon/arena.hpp"
#include "carillon/copy.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

// If memory is cached, streaming stores would only evict it.
StoreKind copy_stores(HostStores stores) {
    return stores.kind == StoreKind::cached ? StoreKind::cached : best_copy_stores();
}

struct OwnChunks {
    Memory own{};  // unless it is an arena's piece
    ArenaPiece piece{};
    Memory credit;
};

}  // namespace

ObjectEnd<ChunkRingView> own_chunk_ring(Device const* of, Arena const* arena,
                                        ChunkRingOptions const& options) try {
    Device const& device = arena == nullptr ? *of : arena->device();
    check_capacity(options.chunks);
    ObjectShape const shape{options.chunks, 1, checked_chunk_bytes(options.chunk_bytes)};
    check_first(options.for_tests.first);
    auto own = std::make_shared<OwnChunks>(OwnChunks{.credit = device.allocate_host(sizeof(Line))});
    HostWait const wait = HostWait::for_kernel(device.traits(), 1, options.wait);
    std::size_t const size = ChunkRingLayout::device_bytes(shape);
    if (arena == nullptr) {
        own->own = device.allocate(size);
    } else {
        own->piece = arena->allocate(size);
    }
    auto const view = [&](void* begin, void* credit) {
        return ChunkRingLayout::view(shape, {static_cast<std::byte*>(begin),
                                             static_cast<std::byte*>(credit),
                                             1,
                                             {},
                                             options.for_tests.first});
    };
    auto const both = [&](auto const& memory) {
        return std::pair(view(memory.host_ptr(), own->credit.host_ptr()),
                         view(memory.device_ptr(), own->credit.device_ptr()));
    };
    auto const [host, on_device] = arena == nullptr ? both(own->own) : both(own->piece);
    Memory const& memory = arena == nullptr ? own->own : own->piece.memory();
    format_ring(host.ring);
    memory.flush(own->piece.offset() + shape.chunks_bytes(), size - shape.chunks_bytes());
    return {.view = host,
            .far = device.access(memory),
            .wait = wait,
            .chunk_bytes = shape.chunk_bytes,
            .device = on_device,
            .memory = std::move(own)};
} catch (...) {
    throw_named("ChunkRing");
}

ChunkRingState::ChunkRingState(ObjectEnd<ChunkRingView> end)
    : end_(std::move(end)),
      copy_(copy_stores(end_.far.stores())),
      producer_(end_.view, end_.far, HostCached()) {}

Sequence ChunkRingState::claim(std::chrono::nanoseconds timeout) {
    Sequence claimed = 0;
    bool const in_time = end_.wait.until(
        [&] {
            claimed = try_claim();
            return claimed != 0;
        },
        timeout);
    if (!in_time) {
        throw TimeoutError("no chunk was released within ", timeout,
                           fmt::format(" ({} chunks)", chunks()));
    }
    return claimed;
}

void ChunkRingState::fill(Sequence sequence, std::size_t offset,
                          std::span<std::byte const> from) const {
    stream_copy(copy_, producer_.data(sequence) + offset, from.data(), from.size());
}

void ChunkRingState::require(std::size_t offset, std::size_t size) const {
    if (offset <= end_.chunk_bytes && size <= end_.chunk_bytes - offset) return;
    throw UsageError(fmt::format("{} bytes from byte {} on exceed the chunk of {} bytes", size,
                                 offset, end_.chunk_bytes));
}

}  // namespace carillon::detail

namespace carillon {

detail::ChunkRingState& ClaimedChunk::state() const {
    if (!state_) throw UsageError("the chunk was committed or moved from");
    state_->mark().require_own();
    return *state_;
}

std::span<std::byte> ClaimedChunk::bytes() const {
    return detail::in_call("Chunk::bytes", [&] {
        detail::ChunkRingState& ring = state();
        return std::span(ring.producer().data(sequence_), ring.chunk_bytes());
    });
}

void ClaimedChunk::fill(std::size_t offset, std::span<std::byte const> from) const {
    detail::in_call("Chunk::fill", [&] {
        detail::ChunkRingState const& ring = state();
        ring.require(offset, from.size());
        detail::require_bytes_there(from);
        ring.fill(sequence_, offset, from);
    });
}

void ClaimedChunk::flush() const {
    detail::in_call("Chunk::flush", [&] {
        detail::ChunkRingState& ring = state();
        ring.producer().flush(sequence_, ring.chunk_bytes());
    });
}

detail::ChunkProducer<detail::HostMapped, detail::HostCached> const& ClaimedChunk::require_commit(
    std::size_t used) const {
    detail::ChunkRingState& ring = state();
    ring.require(0, used);
    ring.require_there();
    return ring.producer();
}

void ClaimedChunk::give_up() noexcept {
    if (!state_ || state_->mark().inherited()) return;
    try {
        state_->producer().drop(sequence_);
    } catch (...) {  // the driver could not flush: claim() will time out here
    }
    state_.reset();
}

}  // namespace carillon

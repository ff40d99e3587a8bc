// SPDX-License-Identifier: Apache-2.0
#include "carillon/chunk_ring.hpp"

#include <fmt/format.h>

#include "carillon/copy.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t chunk_alignment = 256;  // a GPU's loads are best aligned to this

std::size_t stride_of(ChunkRingOptions const& options) {
    return (options.chunk_bytes + chunk_alignment - 1) / chunk_alignment * chunk_alignment;
}

ChunkRingOptions const& checked(ChunkRingOptions const& options) {
    check_capacity(options.chunks);
    check_chunk_bytes(options.chunk_bytes);
    check_first(options.for_tests.first);
    return options;
}

// If memory is cached, streaming stores would only evict it.
StoreKind copy_stores(HostStores stores) {
    return stores.kind == StoreKind::cached ? StoreKind::cached : best_copy_stores();
}

}  // namespace

ChunkRingState::ChunkRingState(Device const& device, ChunkRingOptions const& options,
                               Arena const* arena) try
    : chunks_(checked(options).chunks),
      chunk_bytes_(options.chunk_bytes),
      credit_(device.allocate_host(sizeof(Line))),
      copy_(copy_stores(device.stores())),
      wait_(HostWait::for_kernel(device.traits(), 1, options.wait)) {
    std::size_t const stride = stride_of(options);
    std::size_t const data = chunks_ * stride;
    std::size_t const size = data + chunks_ * sizeof(Line);
    if (arena == nullptr) {
        own_ = device.allocate(size);
    } else {
        piece_ = arena->allocate(size);
    }
    auto const view = [&](void* chunks, void* credit) {
        auto* const begin = static_cast<std::byte*>(chunks);
        return ChunkRingView{
            {reinterpret_cast<Line*>(begin + data), static_cast<std::uint64_t*>(credit), chunks_,
             options.for_tests.first},
            begin,
            stride};
    };
    Memory const& memory = arena == nullptr ? own_ : piece_.memory();
    ChunkRingView const host =
        view(arena == nullptr ? own_.host_ptr() : piece_.host_ptr(), credit_.host_ptr());
    device_ =
        view(arena == nullptr ? own_.device_ptr() : piece_.device_ptr(), credit_.device_ptr());
    format_ring(host.ring);
    memory.flush(piece_.offset() + data, size - data);
    producer_.emplace(host, device.access(memory), HostCached());
} catch (...) {
    throw_named("ChunkRing");
}

ChunkRingState::ChunkRingState(LeasedEnd<ChunkRingView> const& lent)
    : lent_by_(lent.lease),
      chunks_(lent.view.ring.capacity),
      chunk_bytes_(lent.chunk_bytes),
      copy_(copy_stores(lent.far.stores())),
      wait_(lent.wait),
      device_(lent.view) {
    producer_.emplace(lent.view, lent.far, HostCached());
}

Sequence ChunkRingState::claim(std::chrono::nanoseconds timeout) {
    Sequence claimed = 0;
    bool const in_time = wait_.until(
        [&] {
            claimed = try_claim();
            return claimed != 0;
        },
        timeout);
    if (!in_time) throw TimeoutError("no chunk was released");
    return claimed;
}

void ChunkRingState::fill(Sequence sequence, std::size_t offset,
                          std::span<std::byte const> from) const {
    stream_copy(copy_, producer_->data(sequence) + offset, from.data(), from.size());
}

void ChunkRingState::require(std::size_t offset, std::size_t size) const {
    if (offset <= chunk_bytes_ && size <= chunk_bytes_ - offset) return;
    throw UsageError(fmt::format("{} bytes from byte {} on, of a chunk of {} bytes", size, offset,
                                 chunk_bytes_));
}

}  // namespace carillon::detail

namespace carillon {

detail::ChunkRingState& ClaimedChunk::state() const {
    if (!state_) throw UsageError("the chunk was committed already, or moved away");
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

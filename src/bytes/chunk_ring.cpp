// SPDX-License-Identifier: Apache-2.0
#include "carillon/chunk_ring.hpp"

#include <algorithm>
#include <utility>

#include "bytes/bytes_channel.hpp"
#include "carillon/bytes.hpp"
#include "carillon/detail/host/owned.hpp"

namespace carillon {
namespace {

constexpr std::string_view call_of_bytes_chunk_ring = "BytesChunkRing";

std::size_t checked_meta(std::size_t bytes) {
    detail::require_bytes(call_of_bytes_chunk_ring, "meta", bytes, 0, sizeof(ChunkMeta));
    return bytes;
}
// In C++ a type without members has a byte.
std::shared_ptr<detail::ChunkRingState> attach_chunk_ring(Connection const& connection,
                                                          std::string_view object, BytesType meta) {
    meta.bytes = std::max<std::uint32_t>(static_cast<std::uint32_t>(checked_meta(meta.bytes)), 1);
    return detail::BytesAttach::chunk_ring(
        connection, object, detail::type_of_bytes(call_of_bytes_chunk_ring, "meta", meta, 1));
}

}  // namespace

void BytesChunk::commit(std::size_t used, std::span<std::byte const> meta) {
    auto const& producer = require_commit(used);
    detail::require_one("Chunk::commit", "meta", meta, {meta_bytes_});
    ChunkMeta all{};
    std::copy(meta.begin(), meta.end(), all.begin());
    producer.store(sequence(), static_cast<std::uint32_t>(used), all);
    let_go()->producer().send(sequence());
}

BytesChunkEnd::BytesChunkEnd(std::shared_ptr<detail::ChunkRingState> ring)
    : ring_(std::move(ring)), reader_(ring_->device_view()) {}

std::optional<ChunkView<ChunkMeta>> BytesChunkEnd::try_take() {
    constexpr std::string_view call = "BytesChunkEnd::try_take";
    auto const& ring = detail::owned(ring_, call);
    detail::OneThreadCall<> const one(&reader_, call);  // the ring is the host's end
    ring.mark().require_own(call);
    ChunkView<ChunkMeta> chunk;
    if (!reader_.try_take(chunk)) return {};
    return chunk;
}
bool BytesChunkEnd::release(detail::Sequence sequence) {
    constexpr std::string_view call = "BytesChunkEnd::release";
    auto const& ring = detail::owned(ring_, call);
    detail::OneThreadCall<> const one(&reader_, call);  // the ring is the host's end
    ring.mark().require_own(call);
    return reader_.release(sequence);
}

BytesChunkRing::BytesChunkRing(Device const& device, std::size_t meta_bytes,
                               ChunkRingOptions const& options)
    : ring_(std::make_shared<detail::ChunkRingState>(device, options, nullptr)),
      meta_bytes_(checked_meta(meta_bytes)),
      gpu_(!device.emulated()) {}
BytesChunkRing::BytesChunkRing(Connection const& connection, NameArgument object,
                               BytesType const& meta)
    : ring_(attach_chunk_ring(connection, object, meta)), meta_bytes_(meta.bytes) {}

std::optional<BytesChunk> BytesChunkRing::try_claim() {
    detail::OneThreadCall<> const call(ring_.get(), "ChunkRing::try_claim");
    ring_->mark().require_own("ChunkRing::try_claim");
    detail::Sequence const sequence = ring_->try_claim();
    if (sequence == 0) return {};
    return BytesChunk(ring_, sequence, meta_bytes_);
}
BytesChunk BytesChunkRing::claim(std::chrono::nanoseconds timeout) {
    detail::OneThreadCall<> const call(ring_.get(), "ChunkRing::claim");
    ring_->mark().require_own("ChunkRing::claim");
    return {ring_, ring_->claim(timeout), meta_bytes_};
}

BytesChunkEnd BytesChunkRing::emulated_end() {
    constexpr std::string_view call = "BytesChunkRing::emulated_end";
    if (gpu_) {
        throw UnsupportedError(call, "the device is a GPU: its kernels are C++, and have types");
    }
    ring_->take(call, detail::CodeLocation::elsewhere());
    return BytesChunkEnd(ring_);
}

}  // namespace carillon

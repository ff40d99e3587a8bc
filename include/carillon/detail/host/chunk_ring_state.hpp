// SPDX-License-Identifier: Apache-2.0
// The host's part of a ChunkRing that does not depend on the type beside the chunks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "carillon/arena.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"

namespace carillon {
struct ChunkRingOptions;
}  // namespace carillon

namespace carillon::detail {

// A ring of chunks on the host; claimed chunks keep it alive.
class ChunkRingState {
   public:
    ChunkRingState(Device const& device, ChunkRingOptions const& options, Arena const* arena);
    // For a ring that another process lends.
    explicit ChunkRingState(LeasedEnd<ChunkRingView> const& lent);

    [[nodiscard]] ChunkRingView device_view() const { return device_; }
    // Takes the device's end, for `giver`, the public call.
    void take(std::string_view giver, CodeLocation const& where) {
        in_call(giver, [&] {
            lent_by_.require_own_end();
            taken_.take(giver, where, {device_.ring.base, device_.ring.credit});
        });
    }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }
    [[nodiscard]] std::uint32_t chunks() const { return chunks_; }
    [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }
    [[nodiscard]] ChunkProducer<HostMapped, HostCached>& producer() { return *producer_; }
    // See LentBy::require_there().
    void require_there() const { lent_by_.require_there(); }
    // Both return a chunk's number. If none is free, try_claim() returns 0 and claim() throws
    // TimeoutError after `timeout`.
    [[nodiscard]] Sequence try_claim() {
        require_there();
        return producer_->try_claim();
    }
    [[nodiscard]] Sequence claim(std::chrono::nanoseconds timeout);

    void fill(Sequence sequence, std::size_t offset, std::span<std::byte const> from) const;
    // Throws UsageError if a chunk has fewer bytes.
    void require(std::size_t offset, std::size_t size) const;

   private:
    ProcessMark mark_;
    LentBy lent_by_;
    std::uint32_t chunks_;
    std::size_t chunk_bytes_;
    Memory own_;  // unless it is an arena's piece
    ArenaPiece piece_;
    Memory credit_;
    StoreKind copy_;
    HostWait wait_;
    ChunkRingView device_{};
    std::optional<ChunkProducer<HostMapped, HostCached>> producer_;
    TakenOnce taken_;
};

}  // namespace carillon::detail

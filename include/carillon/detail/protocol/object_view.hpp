// SPDX-License-Identifier: Apache-2.0
// The layout of a shared object (shared_objects.hpp), for both sides. All of it is in its client's
// memory while the client has the object.
//
//                    device memory               host memory
//   mailbox:         | newest | values |         none
//   ring to device:  | slots |                   | credit |
//   ring to host:    | credit |                  | slots |
//   chunk ring:      | chunks | lines |          | credit |
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/channel_view.hpp"         // IWYU pragma: export
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"  // IWYU pragma: export
#include "carillon/detail/protocol/mailbox_protocol.hpp"     // IWYU pragma: export

namespace carillon::detail {

struct ObjectShape {
    std::uint32_t capacity = 0;     // slots, values or chunks; a power of two
    std::uint32_t slot_lines = 1;   // of a slot, or a value
    std::uint32_t chunk_bytes = 0;  // as requested; 0 unless it is a chunk ring

    [[nodiscard]] CARILLON_HD constexpr std::size_t slots_bytes() const {
        return std::size_t{capacity} * slot_lines * sizeof(Line);
    }
    // From one chunk to the next: a GPU's loads are best aligned to this.
    [[nodiscard]] CARILLON_HD constexpr std::size_t stride() const {
        return (std::size_t{chunk_bytes} + 255) / 256 * 256;
    }
    [[nodiscard]] CARILLON_HD constexpr std::size_t chunks_bytes() const {
        return capacity * stride();
    }
};

// The view of one side, with its addresses of the two memories. A mailbox has no host memory.
struct MailboxLayout {
    using View = MailboxView;
    [[nodiscard]] static constexpr std::size_t device_bytes(ObjectShape const& shape) {
        return sizeof(Line) + shape.slots_bytes();
    }
    [[nodiscard]] static constexpr std::size_t host_bytes(ObjectShape const& /*shape*/) {
        return 0;
    }
    [[nodiscard]] CARILLON_HD static View view(ObjectShape const& shape, ChannelTable const& at) {
        auto* const lines = reinterpret_cast<Line*>(at.in_device_memory);
        return {lines + 1, &lines->quads[0].low, shape.capacity, shape.slot_lines, at.first};
    }
    static void format(View const& view) { format_mailbox(view); }
};

template <bool to_host>
struct RingLayout {
    using View = RingView;
    [[nodiscard]] static constexpr std::size_t device_bytes(ObjectShape const& shape) {
        return to_host ? sizeof(Line) : shape.slots_bytes();
    }
    [[nodiscard]] static constexpr std::size_t host_bytes(ObjectShape const& shape) {
        return to_host ? shape.slots_bytes() : sizeof(Line);
    }
    [[nodiscard]] CARILLON_HD static View view(ObjectShape const& shape, ChannelTable const& at) {
        return {reinterpret_cast<Line*>(to_host ? at.in_host_memory : at.in_device_memory),
                reinterpret_cast<std::uint64_t*>(to_host ? at.in_device_memory : at.in_host_memory),
                shape.capacity, at.first, shape.slot_lines};
    }
    static void format(View const& view) { format_ring(view); }
};
using RingToDeviceLayout = RingLayout<false>;
using RingToHostLayout = RingLayout<true>;

struct ChunkRingLayout {
    using View = ChunkRingView;
    [[nodiscard]] static constexpr std::size_t device_bytes(ObjectShape const& shape) {
        return shape.chunks_bytes() + shape.capacity * sizeof(Line);
    }
    [[nodiscard]] static constexpr std::size_t host_bytes(ObjectShape const& /*shape*/) {
        return sizeof(Line);
    }
    [[nodiscard]] CARILLON_HD static View view(ObjectShape const& shape, ChannelTable const& at) {
        return {{reinterpret_cast<Line*>(at.in_device_memory + shape.chunks_bytes()),
                 reinterpret_cast<std::uint64_t*>(at.in_host_memory), shape.capacity, at.first},
                at.in_device_memory,
                shape.stride()};
    }
    static void format(View const& view) { format_ring(view.ring); }
};

}  // namespace carillon::detail

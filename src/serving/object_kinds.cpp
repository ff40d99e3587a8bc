// SPDX-License-Identifier: Apache-2.0
#include "serving/object_kinds.hpp"

#include <array>

#include "carillon/channel_memory.hpp"

namespace carillon::detail {
namespace {

template <class Layout>
MemoryBytes bytes_of(ChannelShape const& shape, std::uint32_t chunk_bytes) {
    ObjectShape const object{shape.capacity, shape.request_lines, chunk_bytes};
    return {Layout::device_bytes(object), Layout::host_bytes(object)};
}

MemoryBytes bytes_of_channel(ChannelShape const& shape, std::uint32_t /*chunk_bytes*/) {
    return {ChannelTable::doorbells_end(1, shape), ChannelTable::host_bytes(shape)};
}

void format_channel(ObjectShape const& /*shape*/, ChannelTable const& at) { format_channels(at); }

template <class Layout>
void format(ObjectShape const& shape, ChannelTable const& at) {
    Layout::format(Layout::view(shape, at));
}

CountedRing ring_to_device(ObjectShape const& shape, ChannelTable const& at) {
    return {RingToDeviceLayout::view(shape, at), true};
}
CountedRing ring_to_host(ObjectShape const& shape, ChannelTable const& at) {
    return {RingToHostLayout::view(shape, at), false};
}
CountedRing ring_of_chunks(ObjectShape const& shape, ChannelTable const& at) {
    return {ChunkRingLayout::view(shape, at).ring, true};
}

// The order is that of ObjectKind.
constexpr std::array rows{
    KindRow{.name = "kernel", .bytes = bytes_of_channel, .format = format_channel},
    KindRow{.name = "mailbox",
            .any_lines = true,
            .begins_again = true,
            .bytes = bytes_of<MailboxLayout>,
            .format = format<MailboxLayout>},
    KindRow{.name = "ring to the device",
            .bytes = bytes_of<RingToDeviceLayout>,
            .format = format<RingToDeviceLayout>,
            .ring = ring_to_device},
    KindRow{.name = "ring to the host",
            .bytes = bytes_of<RingToHostLayout>,
            .format = format<RingToHostLayout>,
            .ring = ring_to_host},
    KindRow{.name = "chunk ring",
            .chunks = true,
            .bytes = bytes_of<ChunkRingLayout>,
            .format = format<ChunkRingLayout>,
            .ring = ring_of_chunks},
    KindRow{.name = "mailbox to the host",
            .published = true,
            .any_lines = true,
            .bytes = bytes_of<MailboxLayout>},
    KindRow{.name = "log", .published = true, .any_lines = true, .bytes = bytes_of<MailboxLayout>},
};
static_assert(rows.size() == static_cast<std::size_t>(last_kind) + 1);

}  // namespace

KindRow const& kind_row(ObjectKind kind) { return rows.at(static_cast<std::size_t>(kind)); }

}  // namespace carillon::detail

namespace carillon {

std::string_view to_string(ObjectKind kind) { return detail::kind_row(kind).name; }

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
#include "serving/object_kinds.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

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

template <class Layout>
CountedRing ring_of(ObjectShape const& shape, ChannelTable const& at) {
    return {Layout::view(shape, at), std::is_same_v<Layout, RingToDeviceLayout>};
}
CountedRing ring_of_chunks(ObjectShape const& shape, ChannelTable const& at) {
    return {ChunkRingLayout::view(shape, at).ring, true};
}

template <class Layout>
constexpr KindRow row_of(KindRow row) {
    row.any_lines = std::is_same_v<Layout, MailboxLayout>;
    row.bytes = bytes_of<Layout>;
    if (!row.published) row.format = format<Layout>;
    return row;
}

// The order is that of ObjectKind.
constexpr std::array rows{
    KindRow{.name = "kernel", .bytes = bytes_of_channel, .format = format_channel},
    row_of<MailboxLayout>({.name = "mailbox", .begins_again = true}),
    row_of<RingToDeviceLayout>({.name = "ring to the device", .ring = ring_of<RingToDeviceLayout>}),
    row_of<RingToHostLayout>({.name = "ring to the host", .ring = ring_of<RingToHostLayout>}),
    row_of<ChunkRingLayout>({.name = "chunk ring", .chunks = true, .ring = ring_of_chunks}),
    row_of<MailboxLayout>({.name = "mailbox to the host", .published = true}),
    row_of<MailboxLayout>({.name = "log", .published = true}),
};
static_assert(std::ranges::all_of(rows, [](KindRow const& row) { return row.bytes != nullptr; }));

}  // namespace

KindRow const& kind_row(ObjectKind kind) { return rows.at(static_cast<std::size_t>(kind)); }
ObjectKind last_kind() { return static_cast<ObjectKind>(rows.size() - 1); }

}  // namespace carillon::detail

namespace carillon {

std::string_view to_string(ObjectKind kind) { return detail::kind_row(kind).name; }

}  // namespace carillon

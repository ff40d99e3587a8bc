// SPDX-License-Identifier: Apache-2.0
#include "serving/attached.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "carillon/detail/serving/lendable.hpp"
#include "carillon/error.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

// Slots of a channel, and of a ring, are powers of two.
void require_lines(KindRow const& row, ChannelShape const& shape) {
    if (row.any_lines ||
        (std::has_single_bit(shape.request_lines) && std::has_single_bit(shape.reply_lines)))
        return;
    throw ProtocolError(fmt::format("slots of {} and {} lines, which are no powers of two",
                                    shape.request_lines, shape.reply_lines));
}

void require_sizes(ObjectKind kind, Attached const& attached) {
    KindRow const& row = kind_row(kind);
    require_lines(row, attached.shape);
    if (row.chunks && attached.chunk_bytes == 0) throw ProtocolError("chunks of 0 bytes");
    auto const [device, host] = row.bytes(attached.shape, attached.chunk_bytes);
    bool const both = (host == 0) == (attached.host_bytes == 0);
    if (both && attached.memory.bytes >= device && attached.host_bytes >= host) return;
    throw ProtocolError(fmt::format(
        "{} and {} bytes of memory for a {} that needs {} and {}", attached.memory.bytes,
        attached.host_bytes, kind == ObjectKind::kernel ? "channel" : row.name, device, host));
}

}  // namespace

MappedChannel::MappedChannel(ObjectKind kind, Attached const& attached,
                             std::vector<FileDescriptor> files)
    : attached_((require_sizes(kind, attached), attached)),
      device_(std::move(files.at(0)), attached.memory.bytes, attached.memory.source,
              attached.memory.uuid,
              kind_row(kind).published ? MapAccess::read : MapAccess::read_write) {
    if (attached.host_bytes == 0) return;
    host_.emplace(std::move(files.at(1)), attached.host_bytes, MemorySource::host, std::nullopt);
}

ChannelTable MappedChannel::table() const {
    return table_of_one(device_.host_ptr(), host_ ? host_->host_ptr() : nullptr, attached_.shape,
                        attached_.first, attached_.in_pairs);
}

ChannelView MappedChannel::view() const {
    ChannelView view = table().channel(0);
    if (attached_.any_block) view.requests.credit = &counters()->taken;  // pool_places.hpp
    return view;
}

HostMapped MappedChannel::access(std::optional<PublishMode> mode) const {
    HostStores stores = attached_.memory.write_combining ? best_mapped_stores() : HostStores{};
    stores.mode = mode.value_or(stores.mode);
    auto const* const word = static_cast<std::uint64_t const*>(device_.host_ptr());
    return HostMapped(stores, device_.range_sync(), attached_.read_back ? word : nullptr);
}

HostWait MappedChannel::wait(std::optional<HostWait::Style> const& chosen) const {
    DeviceTraits traits;
    traits.shares_processors = attached_.shares_processors;
    return HostWait::for_kernel(traits, attached_.blocks, chosen);
}

}  // namespace carillon::detail

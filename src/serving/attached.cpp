// SPDX-License-Identifier: Apache-2.0
#include "serving/attached.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "carillon/error.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

ChannelTable table_of(Attached const& attached, void* device, void* host) {
    return {static_cast<std::byte*>(device),
            static_cast<std::byte*>(host),
            1,
            attached.shape,
            attached.first,
            nullptr,
            attached.in_pairs};
}

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

// Describes memory of the device, or of the host, to a client.
Attached describe_memory(Device const& device, bool in_host) {
    Attached attached;
    attached.memory.source = in_host ? MemorySource::host : device.info().memory_source;
    attached.memory.uuid = in_host ? std::nullopt : uuid_of(device.info());
    attached.memory.write_combining = !in_host && device.traits().write_combining;
    attached.read_back = device.info().data_order == DataOrder::read_back;
    attached.shares_processors = device.traits().shares_processors;
    return attached;
}

}  // namespace

Attached describe(Lender const& lender, LentMemory const& memory, SharedFiles& files) {
    files.device = memory.device.export_fd();
    if (memory.host.size() != 0) files.host = memory.host.export_fd();
    Attached attached =
        describe_memory(lender.device(), memory.sharing == ChannelSharing::exported_from_host);
    attached.memory.bytes = memory.device.size();
    attached.host_bytes = memory.host.size();
    attached.shape = lender.shape();
    attached.chunk_bytes = lender.object_shape().chunk_bytes;
    attached.first = memory.first;
    attached.in_pairs = memory.in_pairs;
    attached.any_block = lender.served_by() == ServedBy::any_block;
    if (lender.blocks() != nullptr) attached.blocks = lender.blocks()->channels();
    return attached;
}

Attached describe(PublishedObject const& object, SharedFiles& files) {
    files.device = object.export_fd();
    Attached attached = describe_memory(object.device(), true);
    attached.memory.bytes = object.bytes();
    ObjectShape const& shape = object.shape();
    attached.shape = {shape.capacity, shape.slot_lines, shape.slot_lines};
    attached.first = object.first();
    return attached;
}

ObjectShape shape_of(Attached const& attached) {
    return {attached.shape.capacity, attached.shape.request_lines, attached.chunk_bytes};
}

MappedChannel::MappedChannel(ObjectKind kind, Attached const& attached, SharedFiles files)
    : attached_((require_sizes(kind, attached), attached)),
      device_(std::move(files.device), attached.memory.bytes, attached.memory.source,
              attached.memory.uuid,
              kind_row(kind).published ? MapAccess::read : MapAccess::read_write) {
    if (attached.host_bytes == 0) return;
    host_.emplace(std::move(files.host), attached.host_bytes, MemorySource::host, std::nullopt);
}

ChannelView MappedChannel::view() const {
    ChannelView view = table_of(attached_, device_.host_ptr(), host_ptr()).channel(0);
    if (attached_.any_block) view.requests.credit = &counters()->taken;  // pool_places.hpp
    return view;
}

ServedBy MappedChannel::served_by() const {
    return attached_.any_block ? ServedBy::any_block : ServedBy::one_block;
}

CounterWords* MappedChannel::counters() const {
    return table_of(attached_, device_.host_ptr(), host_ptr()).counters(0);
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

// SPDX-License-Identifier: Apache-2.0
#include "ipc/attached.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "carillon/error.hpp"

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

std::size_t device_bytes(ChannelShape const& shape) {
    return ChannelTable::doorbells_end(1, shape);
}

void require_sizes(std::string_view call, Attached const& attached) {
    std::size_t const device = device_bytes(attached.shape);
    std::size_t const host = ChannelTable::host_bytes(attached.shape);
    if (attached.device_bytes >= device && attached.host_bytes >= host) return;
    throw ProtocolError(call,
                        fmt::format("{} and {} bytes of memory for a channel that needs {} and {}",
                                    attached.device_bytes, attached.host_bytes, device, host));
}

}  // namespace

Attached describe(Leases const& leases, ChannelMemory const& memory, SharedFiles& files) {
    files.device = memory.device_memory().export_fd();
    files.host = memory.host_memory().export_fd();
    Device const& device = leases.device();
    ChannelTable const table = memory.host_view();
    bool const in_host = memory.sharing() == ChannelSharing::exported_from_host;
    Attached attached;
    attached.source = in_host ? MemorySource::host : device.info().memory_source;
    attached.uuid = in_host ? std::nullopt : uuid_of(device.info());
    attached.device_bytes = memory.device_memory().size();
    attached.host_bytes = memory.host_memory().size();
    attached.shape = memory.shape();
    attached.first = table.first;
    attached.in_pairs = table.in_pairs;
    attached.write_combining = !in_host && device.traits().write_combining;
    attached.read_back = device.info().data_order == DataOrder::read_back;
    attached.shares_processors = device.traits().shares_processors;
    attached.blocks = leases.blocks()->channels();
    return attached;
}

MappedChannel::MappedChannel(std::string_view call, Attached const& attached, SharedFiles files)
    : attached_((require_sizes(call, attached), attached)),
      device_(call, std::move(files.device), attached.device_bytes, attached.source, attached.uuid),
      host_(call, std::move(files.host), attached.host_bytes, MemorySource::host, {}) {}

ChannelView MappedChannel::view() const {
    return table_of(attached_, device_.host_ptr(), host_.host_ptr()).channel(0);
}

HostMapped MappedChannel::access() const {
    HostStores const stores = attached_.write_combining ? best_mapped_stores() : HostStores{};
    auto const* const word = static_cast<std::uint64_t const*>(device_.host_ptr());
    return HostMapped(stores, device_.range_sync(), attached_.read_back ? word : nullptr);
}

HostWait MappedChannel::wait(std::optional<HostWait::Style> const& chosen) const {
    DeviceTraits traits;
    traits.shares_processors = attached_.shares_processors;
    return HostWait::for_kernel(traits, attached_.blocks, chosen);
}

}  // namespace carillon::detail

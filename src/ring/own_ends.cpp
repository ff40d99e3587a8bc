// SPDX-License-Identifier: Apache-2.0
// The parts of the CPU's ends of objects of this process's own.
#include <memory>
#include <utility>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/error.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/ring.hpp"

namespace carillon::detail {

ChannelParts own_channel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                         unsigned index, ChannelShape const& shape, HostWait wait,
                         std::shared_ptr<ChannelPeer> kernel, std::uint64_t* doorbell) {
    auto checked = checked_memory(device, std::move(memory), index, shape, kernel != nullptr);
    ChannelTable const table = checked->host_view();
    return {.view = table.channel(index),
            .far = device.access(checked->device_memory()),
            .wait = wait,
            .counters = table.counters(index),
            .served_by = checked->served_by(),
            .kernel = std::move(kernel),
            .memory = checked,
            .index = index,
            .doorbell = doorbell};
}

ChannelParts own_channel(Device const& device, ChannelShape const& shape) {
    return own_channel(device, std::make_shared<ChannelMemory>(device, 1, shape), 0, shape,
                       HostWait::for_kernel(device.traits(), 1), nullptr, nullptr);
}

ChannelView device_channel(ChannelParts const& parts) {
    if (parts.memory == nullptr) throw UsageError("the kernel belongs to another process");
    if (parts.kernel != nullptr) {
        throw UsageError(
            "a block of the PersistentKernel has this end: for a kernel of your own, make a "
            "Channel");
    }
    return parts.memory->device_view().channel(parts.index);
}

ObjectEnd<RingView> own_ring(Device const& device, Direction direction, std::uint32_t slot_lines,
                             RingOptions const& options) {
    auto memory = std::make_shared<ChannelMemory>(
        device, 1, ChannelShape{options.capacity, slot_lines, slot_lines}, options.for_tests.first);
    auto const ring = [&](ChannelTable const& table) {
        ChannelView const channel = table.channel(0);
        return direction == Direction::to_device ? channel.requests : channel.replies;
    };
    return {.view = ring(memory->host_view()),
            .far = device.access(memory->device_memory()),
            .wait = HostWait::for_kernel(device.traits(), 1, options.wait),
            .device = ring(memory->device_view()),
            .memory = memory};
}

ObjectEnd<MailboxView> own_mailbox(Device const& device, Direction direction,
                                   std::uint32_t slot_lines, MailboxOptions const& options) {
    check_capacity(options.capacity);
    check_first(options.for_tests.first);
    bool const to_device = direction == Direction::to_device;
    ObjectShape const shape{options.capacity, slot_lines};
    std::size_t const size = MailboxLayout::device_bytes(shape);
    auto memory = std::make_shared<Memory const>(to_device ? device.allocate(size)
                                                           : device.allocate_host(size));
    auto const view = [&](void* begin) {
        return MailboxLayout::view(
            shape, {static_cast<std::byte*>(begin), nullptr, 1, {}, options.for_tests.first});
    };
    MailboxView const host = view(memory->host_ptr());
    format_mailbox(host);
    memory->flush(0, size);
    // Quads need two steps; here every word has its own tag (detail/protocol/mailbox_protocol.hpp).
    HostStores stores = device.stores();
    stores.mode = PublishMode::one_step;
    if (!to_device) stores.kind = StoreKind::cached;  // the CPU's own memory
    return {.view = host,
            .far = to_device ? device.access(*memory, stores) : HostMapped(stores),
            .wait = HostWait(),
            .device = view(memory->device_ptr()),
            .memory = memory};
}

}  // namespace carillon::detail

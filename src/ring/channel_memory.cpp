// SPDX-License-Identifier: Apache-2.0
#include "carillon/channel_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/error.hpp"

namespace carillon {

namespace {

struct LargestMessage {
    std::byte bytes[detail::message_bytes + 8];
};

void check(unsigned channels, ChannelShape const& shape) {
    detail::check_capacity(shape.capacity);
    if (channels == 0) throw UsageError("at least one channel is needed");
    for (std::uint32_t const lines : {shape.request_lines, shape.reply_lines}) {
        if (std::has_single_bit(lines) && lines <= detail::slot_lines_of<LargestMessage>) continue;
        throw UsageError(
            fmt::format("slots of {} lines: ChannelShape::of says how many there are", lines));
    }
}

std::size_t bytes_in_host_memory(unsigned channels, ChannelShape const& shape) {
    check(channels, shape);
    return channels * detail::ChannelTable::host_bytes(shape);
}

std::size_t bytes_with_doorbells(unsigned channels, ChannelShape const& shape) {
    check(channels, shape);
    return detail::ChannelTable::doorbells_end(channels, shape);
}

std::size_t bytes_in_device_memory(unsigned channels, ChannelShape const& shape) {
    return bytes_with_doorbells(channels, shape) + channels * sizeof(ChannelLocation);
}

// Allocates the memory that the device polls, and the one that the CPU polls.
Memory allocate_polled(Device const& device, std::size_t size, ChannelSharing sharing) {
    if (sharing == ChannelSharing::exported_from_host) return device.allocate_shared_host(size);
    // "Device memory" that is the host's has a descriptor only on request.
    bool const of_host = device.info().memory_source == MemorySource::host;
    return of_host && sharing == ChannelSharing::exported ? device.allocate_shared_host(size)
                                                          : device.allocate(size);
}
Memory allocate_answered(Device const& device, std::size_t size, ChannelSharing sharing) {
    return sharing == ChannelSharing::none ? device.allocate_host(size)
                                           : device.allocate_shared_host(size);
}

// The parts of one memory for `channels` channels: the given ones, then the others.
std::vector<std::uint32_t> all_parts(std::vector<std::uint32_t> given, unsigned channels) {
    std::vector<bool> used(channels);
    for (std::uint32_t part : given) {
        if (part >= channels) {
            throw UsageError(fmt::format("part {} of {} is not there", part, channels));
        }
        if (used[part]) throw UsageError(fmt::format("part {} is given twice", part));
        used[part] = true;
    }
    for (std::uint32_t part = 0; part < channels; ++part) {
        if (!used[part]) given.push_back(part);
    }
    return given;
}

[[noreturn]] void throw_has_kernel() {
    throw UsageError("a PersistentKernel has the ChannelMemory: let it go first, with its clients");
}

}  // namespace

ChannelMemory::ChannelMemory(Device const& device, unsigned channels, ChannelShape const& shape,
                             detail::Sequence first, ChannelSharing sharing, ServedBy served_by) try
    : channels_(channels),
      shape_(shape),
      sharing_(sharing),
      served_by_(served_by),
      in_pairs_(device.info().memory_source != MemorySource::host &&
                sharing != ChannelSharing::exported_from_host && served_by == ServedBy::one_block),
      first_((detail::check_first(first), first)),
      in_device_memory_(allocate_polled(device, bytes_in_device_memory(channels, shape), sharing)),
      in_host_memory_(allocate_answered(device, bytes_in_host_memory(channels, shape), sharing)) {
    make_empty();
} catch (...) {
    detail::throw_named("ChannelMemory");
}

std::shared_ptr<ChannelMemory> ChannelMemory::taken_by_kernel(
    std::shared_ptr<ChannelMemory> memory) {
    if (memory->has_kernel_.exchange(true)) throw_has_kernel();
    ChannelMemory* const its = memory.get();
    std::shared_ptr<ChannelMemory> taken(
        its, [memory = std::move(memory)](ChannelMemory* all) { all->has_kernel_ = false; });
    taken->make_empty();
    return taken;
}

void ChannelMemory::require_no_kernel() const {
    if (has_kernel_) throw_has_kernel();
}

void ChannelMemory::reset(std::optional<Sequence> first) {
    detail::in_call("ChannelMemory::reset", [&] {
        if (first) detail::check_first(*first);
        require_no_kernel();
        first_ = first.value_or(first_);
        make_empty();
    });
}

void detail::format_channels(ChannelTable const& at) {
    std::size_t const size = ChannelTable::doorbells_end(at.channels, at.shape);
    std::memset(at.in_device_memory, 0, size);
    std::memset(at.in_host_memory, 0, at.channels * ChannelTable::host_bytes(at.shape));
    for (unsigned i = 0; i < at.channels; ++i) {
        *at.counters(i) = no_counts(at.first);
        ChannelView const view = at.channel(ChannelLocation{i, i});
        format_ring(view.requests);
        format_ring(view.replies);
    }
    std::uint64_t* const doorbells = at.doorbells(0, 0);
    std::size_t const doorbell_bytes = size - ChannelTable::doorbells_at(at.channels, at.shape);
    std::fill_n(doorbells, doorbell_bytes / sizeof(*doorbells), at.first - 1);
}

void ChannelMemory::make_empty() {
    detail::format_channels(host_view());
    if (!locations_.empty()) {
        auto* const locations = static_cast<std::byte*>(in_device_memory_.host_ptr()) +
                                bytes_with_doorbells(channels_, shape_);
        std::memcpy(locations, locations_.data(),
                    locations_.size() * sizeof(detail::ChannelLocation));
    }
    in_device_memory_.flush(0, in_device_memory_.size());
}

void ChannelMemory::arrange(std::span<ChannelLocation const> locations) {
    detail::in_call("ChannelMemory::arrange", [&] {
        require_no_kernel();
        std::vector<std::uint32_t> device;
        std::vector<std::uint32_t> host;
        for (ChannelLocation const& location : locations) {
            device.push_back(location.in_device_memory);
            host.push_back(location.in_host_memory);
        }
        device = all_parts(std::move(device), channels_);
        host = all_parts(std::move(host), channels_);
        locations_.clear();
        for (unsigned i = 0; i < channels_; ++i) locations_.push_back({device[i], host[i]});
        make_empty();
    });
}

ChannelCounters ChannelMemory::counters(unsigned index) const {
    detail::ChannelTable const table = host_view();
    return detail::read_counters(table.channel(index).replies, *table.counters(index), served_by_);
}

detail::ChannelTable ChannelMemory::host_view() const {
    return {static_cast<std::byte*>(in_device_memory_.host_ptr()),
            static_cast<std::byte*>(in_host_memory_.host_ptr()),
            channels_,
            shape_,
            first_,
            locations_.empty() ? nullptr : locations_.data(),
            in_pairs_};
}

detail::ChannelTable ChannelMemory::device_view() const {
    auto* const device = static_cast<std::byte*>(in_device_memory_.device_ptr());
    std::byte* const locations = device + bytes_with_doorbells(channels_, shape_);
    return {device,
            static_cast<std::byte*>(in_host_memory_.device_ptr()),
            channels_,
            shape_,
            first_,
            locations_.empty() ? nullptr : reinterpret_cast<ChannelLocation const*>(locations),
            in_pairs_};
}

}  // namespace carillon

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

// Returns `first`. Throws UsageError.
detail::Sequence checked(unsigned channels, ChannelShape const& shape, detail::Sequence first) {
    detail::check_first(first);
    detail::check_capacity(shape.capacity);
    if (channels == 0) throw UsageError("0 channels requested: at least one is needed");
    for (std::uint32_t const lines : {shape.request_lines, shape.reply_lines}) {
        if (std::has_single_bit(lines) && lines <= detail::slot_lines_of<LargestMessage>) continue;
        throw UsageError(
            fmt::format("slots of {} lines are not possible: use ChannelShape::of", lines));
    }
    return first;
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
            throw UsageError(
                fmt::format("part {} is out of range: the memory has {} (from 0)", part, channels));
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
    throw UsageError(
        "a PersistentKernel uses the ChannelMemory: destroy the kernel and its clients first");
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
      first_(checked(channels, shape, first)),
      in_device_memory_(allocate_polled(
          device, ChannelTable::doorbells_end(channels, shape) + channels * sizeof(ChannelLocation),
          sharing)),
      in_host_memory_(
          allocate_answered(device, channels * ChannelTable::host_bytes(shape), sharing)) {
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
    ChannelTable const table = host_view();
    detail::format_channels(table);
    if (!locations_.empty()) {
        std::memcpy(table.in_device_memory + ChannelTable::doorbells_end(channels_, shape_),
                    locations_.data(), locations_.size() * sizeof(ChannelLocation));
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
    ChannelTable table = host_view();
    table.in_device_memory = static_cast<std::byte*>(in_device_memory_.device_ptr());
    table.in_host_memory = static_cast<std::byte*>(in_host_memory_.device_ptr());
    if (table.locations != nullptr) {
        table.locations = reinterpret_cast<ChannelLocation const*>(
            table.in_device_memory + ChannelTable::doorbells_end(channels_, shape_));
    }
    return table;
}

}  // namespace carillon

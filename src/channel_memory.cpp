// SPDX-License-Identifier: Apache-2.0
#include "carillon/channel_memory.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "carillon/error.hpp"

namespace carillon {

void check_capacity(char const* call, std::uint32_t capacity) {
    constexpr std::uint32_t largest = 1U << 24;
    if (!std::has_single_bit(capacity) || capacity < 2 || capacity > largest) {
        throw UsageError(call, fmt::format("a capacity of {} is not a power of two from 2 to {}",
                                           capacity, largest));
    }
}

namespace {

std::size_t bytes_for(unsigned channels, std::uint32_t capacity) {
    check_capacity("ChannelMemory", capacity);
    if (channels == 0) throw UsageError("ChannelMemory", "at least one channel is needed");
    return channels * ChannelTable::stride(capacity);
}

}  // namespace

ChannelMemory::ChannelMemory(Device const& device, unsigned channels, std::uint32_t capacity,
                             Sequence first)
    : channels_(channels),
      capacity_(capacity),
      first_(first),
      in_device_memory_(device.allocate(bytes_for(channels, capacity))),
      in_host_memory_(device.allocate_host(bytes_for(channels, capacity))) {
    reset();
}

void ChannelMemory::reset() {
    std::size_t const size = bytes_for(channels_, capacity_);
    std::memset(in_device_memory_.host(), 0, size);
    std::memset(in_host_memory_.host(), 0, size);
    for (unsigned i = 0; i < channels_; ++i) {
        ChannelView const view = on_host().channel(i);
        format_ring(view.requests);
        format_ring(view.replies);
    }
    in_device_memory_.flush(0, size);
}

ChannelTable ChannelMemory::on_host() const {
    return {static_cast<std::byte*>(in_device_memory_.host()),
            static_cast<std::byte*>(in_host_memory_.host()), capacity_, first_};
}

ChannelTable ChannelMemory::on_device() const {
    return {static_cast<std::byte*>(in_device_memory_.device()),
            static_cast<std::byte*>(in_host_memory_.device()), capacity_, first_};
}

}  // namespace carillon

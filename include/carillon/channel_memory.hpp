// SPDX-License-Identifier: Apache-2.0
// The memory of the rings of channels; detail/protocol/channel_view.hpp says what lies where in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device.hpp"

namespace carillon {

// Throws UsageError unless `capacity` is a power of two from 2 to 2^20.
void check_capacity(char const* call, std::uint32_t capacity);
// The same for the number of a first message, from 1 to 2^63: none is 0, and none comes after the
// last.
void check_first(char const* call, Sequence first);

// Neither copied nor moved: channels refer to it.
class ChannelMemory {
   public:
    // Memory for `channels` channels of `capacity` slots each way, with both rings empty and the
    // first message numbered `first` (tests place it before a wrap). Throws UsageError and what
    // Device::allocate throws.
    ChannelMemory(Device const& device, unsigned channels, std::uint32_t capacity,
                  Sequence first = 1);

    ChannelMemory(ChannelMemory const&) = delete;
    ChannelMemory& operator=(ChannelMemory const&) = delete;

    // Makes all rings empty again. No kernel may be using them.
    void reset();
    // Lays channel i at locations[i], and the channels beyond those in what is left, for ends that
    // are made from now on; the rings are made empty. Throws UsageError for a part that is not
    // there or is given twice.
    void arrange(std::span<ChannelLocation const> locations);

    [[nodiscard]] unsigned channels() const { return channels_; }
    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
    [[nodiscard]] ChannelTable host_view() const;
    [[nodiscard]] ChannelTable device_view() const;
    // The two blocks of memory, for whoever wants to put something of their own there.
    [[nodiscard]] Memory const& device_memory() const { return in_device_memory_; }
    [[nodiscard]] Memory const& host_memory() const { return in_host_memory_; }

   private:
    unsigned channels_;
    std::uint32_t capacity_;
    Sequence first_;
    std::vector<ChannelLocation> locations_;  // of every channel; none unless arranged
    Memory in_device_memory_;
    Memory in_host_memory_;
};

namespace detail {

// `memory`. Throws UsageError, in the name of `call`, for none, for that of another device, and
// where it has no channel `index`.
[[nodiscard]] std::shared_ptr<ChannelMemory> checked_memory(char const* call, Device const& device,
                                                            std::shared_ptr<ChannelMemory> memory,
                                                            unsigned index);

}  // namespace detail

}  // namespace carillon

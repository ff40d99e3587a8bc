// SPDX-License-Identifier: Apache-2.0
// Where the rings of channels lie: what the device polls in device memory, what the CPU polls in
// page-locked host memory.
//
//   device memory, for each channel      host memory, for each channel
//   | request slots | control line |     | reply slots | status line  |
//   |               | reply credit |     |             | request credit |
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/core/config.hpp"
#include "carillon/core/ring.hpp"
#include "carillon/device.hpp"

namespace carillon {

// Tells a block to end. In device memory; the CPU writes, the block polls.
struct alignas(64) ControlLine {
    std::uint64_t stop;
};

// Tells the CPU where a block is. In host memory; the block writes, the CPU reads.
struct alignas(64) StatusLine {
    std::uint64_t started;         // 1 once the block runs
    std::uint64_t ended;           // 1 once it has returned
    std::uint64_t multiprocessor;  // where it runs
};

// One channel as one side sees it.
struct ChannelView {
    RingView requests;
    RingView replies;
    ControlLine* control;
    StatusLine* status;
};

// All channels of a ChannelMemory as one side sees them. Trivially copyable.
struct ChannelTable {
    std::byte* in_device_memory;
    std::byte* in_host_memory;
    std::uint32_t capacity;
    Sequence first;

    [[nodiscard]] CARILLON_HD static constexpr std::size_t stride(std::uint32_t capacity) {
        return (std::size_t{capacity} + 2) * sizeof(Line);
    }

    [[nodiscard]] CARILLON_HD ChannelView channel(unsigned index) const {
        std::byte* const device = in_device_memory + index * stride(capacity);
        std::byte* const host = in_host_memory + index * stride(capacity);
        std::size_t const after_slots = capacity * sizeof(Line);
        auto* const control = reinterpret_cast<ControlLine*>(device + after_slots);
        auto* const status = reinterpret_cast<StatusLine*>(host + after_slots);
        auto* const reply_credit = reinterpret_cast<std::uint64_t*>(control + 1);
        auto* const request_credit = reinterpret_cast<std::uint64_t*>(status + 1);
        return {{reinterpret_cast<Line*>(device), request_credit, capacity, first},
                {reinterpret_cast<Line*>(host), reply_credit, capacity, first},
                control,
                status};
    }
};

// Throws UsageError unless `capacity` is a power of two from 2 to 2^24.
void check_capacity(char const* call, std::uint32_t capacity);

class ChannelMemory {
   public:
    // Memory for `channels` channels of `capacity` slots each way, with both rings empty and the
    // first message numbered `first` (tests place it before a wrap). Throws UsageError and what
    // Device::allocate throws.
    ChannelMemory(Device const& device, unsigned channels, std::uint32_t capacity,
                  Sequence first = 1);

    // Makes all rings empty again. No kernel may be using them.
    void reset();

    [[nodiscard]] unsigned channels() const { return channels_; }
    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
    [[nodiscard]] ChannelTable on_host() const;
    [[nodiscard]] ChannelTable on_device() const;
    // The two blocks of memory, for whoever wants to put something of their own there.
    [[nodiscard]] Memory const& device_memory() const { return in_device_memory_; }
    [[nodiscard]] Memory const& host_memory() const { return in_host_memory_; }

   private:
    unsigned channels_;
    std::uint32_t capacity_;
    Sequence first_;
    Memory in_device_memory_;
    Memory in_host_memory_;
};

}  // namespace carillon

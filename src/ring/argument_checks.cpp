// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/argument_checks.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "carillon/channel_memory.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

void check_capacity(std::uint32_t capacity) {
    // All slots are written before the first use: for gigabytes that takes seconds.
    constexpr std::uint32_t largest = 1U << 20;
    if (!std::has_single_bit(capacity) || capacity < 2 || capacity > largest) {
        throw UsageError(
            fmt::format("a capacity of {} is not a power of two from 2 to {}", capacity, largest));
    }
}

void check_first(Sequence first) {
    constexpr Sequence largest = Sequence{1} << 63;
    if (first == 0 || first > largest) {
        throw UsageError(fmt::format("a first number of {} is not from 1 to {}", first, largest));
    }
}

void check_shared(std::uint32_t capacity, unsigned readers, Sequence first) {
    check_capacity(capacity);
    check_first(first);
    constexpr unsigned most_readers = 1024;
    if (readers == 0 || readers > most_readers) {
        throw UsageError(
            fmt::format("{} readers requested: there can be 1 to {}", readers, most_readers));
    }
}

std::uint32_t checked_chunk_bytes(std::size_t bytes) {
    constexpr std::size_t largest = std::numeric_limits<std::uint32_t>::max();
    if (bytes != 0 && bytes <= largest) return static_cast<std::uint32_t>(bytes);
    throw UsageError(
        fmt::format("chunks of {} bytes requested: a chunk has 1 to {}", bytes, largest));
}

std::shared_ptr<ChannelMemory> checked_memory(Device const& device,
                                              std::shared_ptr<ChannelMemory> memory, unsigned index,
                                              ChannelShape const& shape, bool for_its_kernel) {
    if (memory == nullptr) throw UsageError("the ChannelMemory is a null pointer");
    if (!device.owns(memory->device_memory())) {
        throw UsageError("the ChannelMemory belongs to another device");
    }
    if (index >= memory->channels()) {
        throw UsageError(fmt::format("there is no channel {}: the ChannelMemory has {} (from 0)",
                                     index, memory->channels()));
    }
    ChannelShape const& has = memory->shape();
    if (has.request_lines < shape.request_lines || has.reply_lines < shape.reply_lines) {
        throw UsageError(fmt::format(
            "the ChannelMemory has slots of {} lines for requests and {} for replies, but the "
            "messages need {} and {}: use ChannelShape::of",
            has.request_lines, has.reply_lines, shape.request_lines, shape.reply_lines));
    }
    if (!for_its_kernel) memory->require_no_kernel();
    return memory;
}

}  // namespace carillon::detail

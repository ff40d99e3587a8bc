// SPDX-License-Identifier: Apache-2.0
// Where the rings of channels lie, as either side sees them: what the device polls in device
// memory, what the CPU polls in page-locked host memory.
//
//   device memory, for each channel      host memory, for each channel
//   | request slots | control line |     | reply slots | status line  |
//   |               | reply credit |     |             | request credit |
//
// After the channels, in device memory: the bells of each block that watches several channels, side
// by side, so that one look tells which of them have news; twice, on neighbouring pages, of which
// the block chooses one. A channel's two parts need not have the same index: which page of memory a
// part lies in decides how long its lines take (placement.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

// Tells a block to end, and that its host is there. In device memory; the CPU writes, the block
// polls both words with one load.
struct alignas(64) ControlLine {
    std::uint64_t stop;
    std::uint64_t host_beat;  // another value now and then
};

// Why a block has returned.
enum class EndReason : std::uint64_t {
    none,         // it has not, or without a word
    told,         // a stop
    lifetime,     // its time was over
    host_silent,  // no beat came from the host for too long
};

// Tells the CPU where a block is. In host memory; the block writes, the CPU reads.
struct alignas(64) StatusLine {
    std::uint64_t started;         // 1 once the block runs
    std::uint64_t ended;           // an EndReason once it has returned
    std::uint64_t multiprocessor;  // where it runs
    std::uint64_t bells;           // which of its two places for bells it watches
    std::uint64_t beat;            // another value now and then, while it does not serve
};

// One channel as one side sees it.
struct ChannelView {
    RingView requests;
    RingView replies;
    ControlLine* control;
    StatusLine* status;
};

// Where a channel's parts lie: indices of strides in either memory.
struct ChannelPlace {
    std::uint32_t in_device_memory;
    std::uint32_t in_host_memory;
    bool operator==(ChannelPlace const&) const = default;
};

// How many channels one block can watch: 64 bells are what a warp reads with one load.
inline constexpr unsigned bells_per_block = 64;

// All channels of a ChannelMemory as one side sees them. Trivially copyable.
struct ChannelTable {
    std::byte* in_device_memory;
    std::byte* in_host_memory;
    std::uint32_t channels;
    std::uint32_t capacity;
    Sequence first;
    // Where each channel lies, in memory of the side that reads it; nullptr: channel i at {i, i}.
    ChannelPlace const* places = nullptr;

    static constexpr std::size_t page = 4096;
    static constexpr std::size_t bell_pages = 2 * page;
    static constexpr unsigned blocks_per_page = page / (bells_per_block * sizeof(std::uint64_t));

    // Slots that fill pages start at one: how long a line takes is a matter of its page.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t stride(std::uint32_t capacity) {
        std::size_t const bytes = (std::size_t{capacity} + 2) * sizeof(Line);
        return capacity * sizeof(Line) < page ? bytes : (bytes + page - 1) / page * page;
    }

    // Where the bells begin, and where they end: pairs of pages, each for eight blocks, which have
    // two channels at least.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t bells_at(unsigned channels,
                                                                    std::uint32_t capacity) {
        return (channels * stride(capacity) + bell_pages - 1) / bell_pages * bell_pages;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t bells_end(unsigned channels,
                                                                     std::uint32_t capacity) {
        std::size_t const blocks = (std::size_t{channels} + 1) / 2;
        std::size_t const pairs = (blocks + blocks_per_page - 1) / blocks_per_page;
        return bells_at(channels, capacity) + pairs * bell_pages;
    }

    // The bells of a block's channels in one of the two places for them: of each the sequence
    // number of the last request published.
    [[nodiscard]] CARILLON_HD std::uint64_t* bells(unsigned block, unsigned place) const {
        std::byte* const pages = in_device_memory + bells_at(channels, capacity) +
                                 block / blocks_per_page * bell_pages + place * page;
        return reinterpret_cast<std::uint64_t*>(pages) +
               std::size_t{block % blocks_per_page} * bells_per_block;
    }

    [[nodiscard]] CARILLON_HD ChannelView channel(unsigned index) const {
        return channel(places == nullptr ? ChannelPlace{index, index} : places[index]);
    }

    [[nodiscard]] CARILLON_HD ChannelView channel(ChannelPlace place) const {
        std::byte* const device = in_device_memory + place.in_device_memory * stride(capacity);
        std::byte* const host = in_host_memory + place.in_host_memory * stride(capacity);
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

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// Where the rings of channels lie, as either side sees them: what the device polls in device
// memory, what the CPU polls in page-locked host memory.
//
//   device memory, for each channel      host memory, for each channel
//   | request slots | control line |     | reply slots | status line  |
//   |               | reply credit |     |             | request credit |
//
// After the channels, in device memory: the doorbells of each block that watches several channels,
// side by side, so that one look tells which of them have news; twice, on neighbouring pages, of
// which the block chooses one. A channel's two parts need not have the same index: which page of
// memory a part lies in decides how long its lines take (placement.hpp).
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
    std::uint64_t started;        // 1 once the block runs
    std::uint64_t ended;          // an EndReason once it has returned
    std::uint64_t sm;             // where it runs
    std::uint64_t doorbell_page;  // which of its two pages for doorbells it watches
    std::uint64_t beat;           // another value now and then, while it does not serve
};

// One channel as one side sees it.
struct ChannelView {
    RingView requests;
    RingView replies;
    ControlLine* control;
    StatusLine* status;
};

// Where a channel's parts lie: indices of strides in either memory.
struct ChannelLocation {
    std::uint32_t in_device_memory;
    std::uint32_t in_host_memory;
    bool operator==(ChannelLocation const&) const = default;
};

// How many channels one block can watch: 64 doorbells are what a warp reads with one load.
inline constexpr unsigned doorbells_per_block = 64;

// How large the rings of a channel are.
struct ChannelShape {
    std::uint32_t capacity;           // slots, each way
    std::uint32_t request_lines = 1;  // of a slot
    std::uint32_t reply_lines = 1;

    // For messages of these types.
    template <class Request, class Reply>
    [[nodiscard]] static constexpr ChannelShape of(std::uint32_t capacity) {
        return {capacity, slot_lines_of<Request>, slot_lines_of<Reply>};
    }
    bool operator==(ChannelShape const&) const = default;
};

// All channels of a ChannelMemory as one side sees them. Trivially copyable.
struct ChannelTable {
    std::byte* in_device_memory;
    std::byte* in_host_memory;
    std::uint32_t channels;
    ChannelShape shape;
    Sequence first;
    // Where each channel lies, in memory of the side that reads it; nullptr: channel i at {i, i}.
    ChannelLocation const* locations = nullptr;

    static constexpr std::size_t page = 4096;
    static constexpr std::size_t doorbell_pages = 2 * page;
    static constexpr unsigned blocks_per_page =
        page / (doorbells_per_block * sizeof(std::uint64_t));

    // Slots that fill pages start at one: how long a line takes is a matter of its page.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t stride(std::size_t slot_lines) {
        std::size_t const bytes = (slot_lines + 2) * sizeof(Line);
        return slot_lines * sizeof(Line) < page ? bytes : (bytes + page - 1) / page * page;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t device_stride(
        ChannelShape const& shape) {
        return stride(std::size_t{shape.capacity} * shape.request_lines);
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t host_stride(ChannelShape const& shape) {
        return stride(std::size_t{shape.capacity} * shape.reply_lines);
    }

    // Where the doorbells begin, and where they end: pairs of pages, each for eight blocks, which
    // have two channels at least.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t doorbells_at(unsigned channels,
                                                                        ChannelShape const& shape) {
        std::size_t const slots = channels * device_stride(shape);
        return (slots + doorbell_pages - 1) / doorbell_pages * doorbell_pages;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t doorbells_end(
        unsigned channels, ChannelShape const& shape) {
        std::size_t const blocks = (std::size_t{channels} + 1) / 2;
        std::size_t const pairs = (blocks + blocks_per_page - 1) / blocks_per_page;
        return doorbells_at(channels, shape) + pairs * doorbell_pages;
    }

    // The doorbells of a block's channels in one of the two pages for them: of each the sequence
    // number of the last request published.
    [[nodiscard]] CARILLON_HD std::uint64_t* doorbells(unsigned block, unsigned which) const {
        std::byte* const pages = in_device_memory + doorbells_at(channels, shape) +
                                 block / blocks_per_page * doorbell_pages + which * page;
        return reinterpret_cast<std::uint64_t*>(pages) +
               std::size_t{block % blocks_per_page} * doorbells_per_block;
    }

    [[nodiscard]] CARILLON_HD ChannelView channel(unsigned index) const {
        return channel(locations == nullptr ? ChannelLocation{index, index} : locations[index]);
    }

    [[nodiscard]] CARILLON_HD ChannelView channel(ChannelLocation location) const {
        std::byte* const device =
            in_device_memory + location.in_device_memory * device_stride(shape);
        std::byte* const host = in_host_memory + location.in_host_memory * host_stride(shape);
        auto* const requests = reinterpret_cast<Line*>(device);
        auto* const replies = reinterpret_cast<Line*>(host);
        std::size_t const slots = shape.capacity;
        auto* const control =
            reinterpret_cast<ControlLine*>(requests + slots * shape.request_lines);
        auto* const status = reinterpret_cast<StatusLine*>(replies + slots * shape.reply_lines);
        auto* const reply_credit = reinterpret_cast<std::uint64_t*>(control + 1);
        auto* const request_credit = reinterpret_cast<std::uint64_t*>(status + 1);
        return {{requests, request_credit, shape.capacity, first, shape.request_lines},
                {replies, reply_credit, shape.capacity, first, shape.reply_lines},
                control,
                status};
    }
};

}  // namespace carillon

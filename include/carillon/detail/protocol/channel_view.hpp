// SPDX-License-Identifier: Apache-2.0
// The layout of channels' rings, for both sides: the device polls device memory, the CPU polls
// pinned host memory.
//
//   device memory                        host memory, for each channel
//   of each channel: | request slots |   | reply slots | status line    |
//   of each channel: | control line  |   |             | request credit |
//                    | reply credit  |   |             | page words     |
//                    | page words    |   |             | counters       |
//
// Request slots lie in pairs of pages (ring_pages.hpp), which contain nothing else. In device
// memory the doorbells of blocks that watch several channels follow the channels. A block's
// doorbells are side by side, so that one look finds all news; they exist twice, on neighbouring
// pages, and the block chooses one. A channel's two parts may have different indices: the page of a
// part decides how long its lines take (placement.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/ring_view.hpp"  // IWYU pragma: export

namespace carillon::detail {

// A client's counts of its channel. They are in host memory, on a line that only the client writes
// and monitors load. The client keeps no other copy, so counting costs one store per reply.
struct CounterWords {
    Sequence submitted;     // the number of the last request
    Sequence taken;         // the number of the last reply taken from the ring
    std::uint64_t stalls;   // requests that found the ring full
    std::uint64_t dropped;  // requests whose reply was given up

#if !defined(__CUDACC_RTC__)  // only on the host
    // Relaxed: each number is read by itself.
    static void store(std::uint64_t& word, std::uint64_t value) {
        std::atomic_ref(word).store(value, std::memory_order_relaxed);
    }
    [[nodiscard]] static std::uint64_t load(std::uint64_t& word) {
        return std::atomic_ref(word).load(std::memory_order_relaxed);
    }
    static void count(std::uint64_t& word) { store(word, load(word) + 1); }
#endif
};

// The counts of an unused channel.
[[nodiscard]] inline CounterWords no_counts(Sequence first) { return {first - 1, first - 1, 0, 0}; }

// Tells a block to end, and that its host lives. It is in device memory; the CPU writes, and the
// block polls both words with one load.
struct alignas(64) ControlLine {
    std::uint64_t stop;
    std::uint64_t host_beat;  // changes from time to time
};

// The reason why a block has returned.
enum class EndReason : std::uint64_t {
    none,         // it has not returned, or gave no reason
    told,         // a stop
    lifetime,     // its lifetime has passed
    host_silent,  // the host's heartbeat was silent for too long
};

// Tells the CPU the state of a block. It is in host memory; the block writes, the CPU reads.
struct alignas(64) StatusLine {
    std::uint64_t started;        // 1 once the block runs
    std::uint64_t ended;          // an EndReason once it has returned
    std::uint64_t sm;             // the SM that it runs on
    std::uint64_t doorbell_page;  // the one of its two doorbell pages that it watches
    std::uint64_t beat;           // changes from time to time, except while it serves
};

// One side's view of one channel.
struct ChannelView {
    RingView requests;
    RingView replies;
    ControlLine* control;
    StatusLine* status;
};

// The place of a channel's parts: indices of strides in either memory.
struct ChannelLocation {
    std::uint32_t in_device_memory;
    std::uint32_t in_host_memory;
    bool operator==(ChannelLocation const&) const = default;
};

// The channels that one block can watch: a warp reads 64 doorbells with one load.
inline constexpr unsigned doorbells_per_block = 64;

// The blocks that take a channel's requests; for any_block see pool_places.hpp.
enum class ServedBy : std::uint8_t { one_block, any_block };

// The sizes of a channel's rings.
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

// One side's view of all channels of a ChannelMemory. Trivially copyable.
struct ChannelTable {
    std::byte* in_device_memory;
    std::byte* in_host_memory;
    std::uint32_t channels;
    ChannelShape shape;
    Sequence first;
    // The place of each channel, in memory of the reading side; nullptr: channel i is at {i, i}.
    ChannelLocation const* locations = nullptr;
    // Whether request slots use the nearer page of each pair. If "device memory" is the host's, no
    // page is nearer, and a GPU's atomic there may undo a concurrent write of the CPU.
    bool in_pairs = true;

    static constexpr std::size_t page = 4096;
    static constexpr std::size_t doorbell_pages = 2 * page;
    static constexpr unsigned blocks_per_page =
        page / (doorbells_per_block * sizeof(std::uint64_t));

    // log2 of the slots in a page.
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t page_shift(std::uint32_t slot_lines) {
        std::uint32_t shift = 0;
        while ((slot_lines * sizeof(Line) << (shift + 1)) <= page) ++shift;
        return shift;
    }

    // The device memory of a channel's request slots, and of its words.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t request_bytes(
        ChannelShape const& shape) {
        return 2 * page * PagePairs::pairs(shape.capacity, page_shift(shape.request_lines));
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t word_bytes(ChannelShape const& shape) {
        return sizeof(ControlLine) + in_lines(1) + in_lines(page_words(shape));
    }
    // The host memory of a channel. Slots that fill pages start at a page: it decides a line's
    // time.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t host_bytes(ChannelShape const& shape) {
        std::size_t const slot_bytes =
            std::size_t{shape.capacity} * shape.reply_lines * sizeof(Line);
        std::size_t const bytes = counters_at(shape) + sizeof(Line);
        return slot_bytes < page ? bytes : (bytes + page - 1) / page * page;
    }
    // The offset of the client's counters, on a line of their own.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t counters_at(ChannelShape const& shape) {
        std::size_t const slot_bytes =
            std::size_t{shape.capacity} * shape.reply_lines * sizeof(Line);
        return slot_bytes + sizeof(StatusLine) + in_lines(1) + in_lines(page_words(shape));
    }
    // The address of the counters, for the host: the device does not use them.
    [[nodiscard]] CounterWords* counters(unsigned index) const {
        unsigned const part = locations == nullptr ? index : locations[index].in_host_memory;
        std::byte* const at = in_host_memory + part * host_bytes(shape) + counters_at(shape);
        return reinterpret_cast<CounterWords*>(at);
    }

    // The begin and end of the doorbells: pairs of pages, each for eight blocks with two channels
    // or more.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t doorbells_at(unsigned channels,
                                                                        ChannelShape const& shape) {
        std::size_t const before = channels * (request_bytes(shape) + word_bytes(shape));
        return (before + doorbell_pages - 1) / doorbell_pages * doorbell_pages;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::size_t doorbells_end(
        unsigned channels, ChannelShape const& shape) {
        std::size_t const blocks = (std::size_t{channels} + 1) / 2;
        std::size_t const pairs = (blocks + blocks_per_page - 1) / blocks_per_page;
        return doorbells_at(channels, shape) + pairs * doorbell_pages;
    }

    // The doorbells of a block's channels in one of their two pages: each has the sequence number
    // of the last published request.
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
        std::byte* const requests =
            in_device_memory + location.in_device_memory * request_bytes(shape);
        std::byte* const control = in_device_memory + channels * request_bytes(shape) +
                                   location.in_device_memory * word_bytes(shape);
        std::byte* const reply_credit = control + sizeof(ControlLine);
        std::byte* const kept = reply_credit + in_lines(1);
        std::byte* const replies = in_host_memory + location.in_host_memory * host_bytes(shape);
        std::byte* const status =
            replies + std::size_t{shape.capacity} * shape.reply_lines * sizeof(Line);
        std::byte* const request_credit = status + sizeof(StatusLine);
        std::byte* const told = request_credit + in_lines(1);
        return {{lines(requests), words(request_credit), shape.capacity, first, shape.request_lines,
                 in_pairs ? PagePairs{words(told), words(kept), page_shift(shape.request_lines)}
                          : PagePairs{}},
                {lines(replies), words(reply_credit), shape.capacity, first, shape.reply_lines},
                reinterpret_cast<ControlLine*>(control),
                reinterpret_cast<StatusLine*>(status)};
    }

   private:
    [[nodiscard]] CARILLON_HD static constexpr std::size_t page_words(ChannelShape const& shape) {
        return PagePairs::words(shape.capacity, page_shift(shape.request_lines));
    }
    // The bytes of `words` words that fill lines alone.
    [[nodiscard]] CARILLON_HD static constexpr std::size_t in_lines(std::size_t words) {
        return (words * sizeof(std::uint64_t) + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line);
    }
    [[nodiscard]] CARILLON_HD static Line* lines(std::byte* at) {
        return reinterpret_cast<Line*>(at);
    }
    [[nodiscard]] CARILLON_HD static std::uint64_t* words(std::byte* at) {
        return reinterpret_cast<std::uint64_t*>(at);
    }
};

}  // namespace carillon::detail

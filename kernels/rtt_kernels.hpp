// SPDX-License-Identifier: Apache-2.0
// The device's side of the measures of `carillon rtt`, for the GPU and for the emulated device.
#pragma once

#include <carillon/carillon.hpp>
#include <carillon/detail/protocol/ring_pages.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/bounded_polls.hpp"

#if !defined(__CUDA_ARCH__)
#include <atomic>
#endif

namespace carillon::tool {

// The alternative: a bare 4-byte flag, written and polled as gdrcopy's pplat does it.
class Flag {
   public:
    CARILLON_HD explicit Flag(void* where) : where_(static_cast<std::uint32_t*>(where)) {}

    [[nodiscard]] CARILLON_HD std::uint32_t read() const {
#if defined(__CUDA_ARCH__)
        return *static_cast<std::uint32_t volatile*>(where_);
#else
        return std::atomic_ref(*where_).load(std::memory_order_relaxed);
#endif
    }
    CARILLON_HD void write(std::uint32_t value) const {
#if defined(__CUDA_ARCH__)
        *static_cast<std::uint32_t volatile*>(where_) = value;
#else
        std::atomic_ref(*where_).store(value, std::memory_order_relaxed);
#endif
    }

    [[nodiscard]] CARILLON_HD void const* address() const { return where_; }

   private:
    std::uint32_t* where_;
};

// One flag at the start of each slot of a ring, so that flags and lines see the same addresses.
struct Flags {
    void* slots;
    std::uint32_t count;  // a power of two

    [[nodiscard]] CARILLON_HD Flag operator[](std::uint32_t number) const {
        return Flag(static_cast<detail::Line*>(slots) + (number & (count - 1)));
    }
};

// A block's facts about itself, in host memory, where the CPU reads them.
struct alignas(64) BlockReport {
    std::uint64_t started;  // 1 once it runs
    std::uint64_t sm;
    std::uint64_t page;  // which page of a pair its flags are in
};

// `Status`: a BlockReport, or the line that the library has for a block.
template <class Status>
CARILLON_HD void report_sm(Status* status) {
    detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&status->sm).set(DeviceClock::sm());
    detail::FlagWriter<bool, detail::DeviceFar>(&status->started).set(true, OutOfLine::written);
}

// Answers flag 1, 2, ... `count` with the same number.
CARILLON_HD inline void echo_flags(Flags requests, Flags replies, std::uint32_t count,
                                   Bound bound) {
    BoundedPolls polls(bound);
    for (std::uint32_t i = 1; i <= count; ++i) {
        Flag const flag = requests[i];
        while (flag.read() != i) {
            if (!polls.again()) return;
        }
        polls.found();
        replies[i].write(i);
    }
}

struct FlagEcho {
    Flags requests;
    Flags replies;
    detail::StatusLine* status;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        report_sm(status);
        echo_flags(requests, replies, count, bound);
    }
};

// One of the pages 2k and 2k + 1 of device memory is near an SM and the other is far.
enum class FlagPlace : std::uint8_t {
    near_page,  // the page of each block's pair that is near it
    far_page,   // the other page of the pair
    in_a_row,   // as many pages in a row as the flags take, wherever the memory is
};

// Flags of several blocks as one side sees them, each block's in pages of its own.
struct FlagField {
    static constexpr std::size_t page = 4096;

    std::byte* requests;
    std::byte* replies;
    BlockReport* reports;
    std::uint32_t count;  // flags of a block; at most a page of them where there is a choice
    std::uint32_t replies_count;  // flags of a block's replies
    FlagPlace place;

    // How many bytes a block has on either side.
    [[nodiscard]] CARILLON_HD std::size_t stride() const {
        return place == FlagPlace::in_a_row ? whole_pages(count) : 2 * page;
    }
    [[nodiscard]] CARILLON_HD std::size_t replies_stride() const {
        return whole_pages(replies_count);
    }
    [[nodiscard]] CARILLON_HD static std::size_t whole_pages(std::uint32_t flags) {
        return (flags * sizeof(detail::Line) + page - 1) / page * page;
    }
    [[nodiscard]] CARILLON_HD Flags requests_of(unsigned block, std::uint64_t which_page) const {
        return {requests + block * stride() + which_page * page, count};
    }
    [[nodiscard]] CARILLON_HD Flags replies_of(unsigned block) const {
        return {replies + block * replies_stride(), replies_count};
    }
};

// FlagEcho for blocks that choose the page of their flags, and report it to the CPU.
struct PlacedFlagEcho {
    FlagField field;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned block) const {
        BlockReport* const report = field.reports + block;
        std::uint64_t const chosen = choose(block);
        detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&report->page).set(chosen);
        report_sm(report);
        echo_flags(field.requests_of(block, chosen), field.replies_of(block), count, bound);
    }

   private:
    [[nodiscard]] CARILLON_HD std::uint64_t choose(unsigned block) const {
        if (field.place == FlagPlace::in_a_row) return 0;
        auto* const pair =
            reinterpret_cast<std::uint64_t*>(field.requests + block * field.stride());
        unsigned const near =
            detail::nearest_page(detail::DeviceNear(), DeviceClock(), pair, FlagField::page, 2,
                                 ~std::uint64_t{0});  // no flag is ever that
        return field.place == FlagPlace::near_page ? near : 1 - near;
    }
};

// A message that fills a line.
struct Words {
    std::uint32_t word[detail::payload_bytes / sizeof(std::uint32_t)];
};

// Sends `count` messages back as they came: ring to ring.
struct LineEcho {
    DeviceConsumer<Words> requests;
    DeviceProducer<Words> replies;
    BlockReport* report;
    std::uint32_t count;
    Bound bound;

    static constexpr std::uint32_t polls_in_a_row = 64;

    CARILLON_HD void operator()(unsigned /*block*/) {
        report_sm(report);
        BoundedPolls polls(bound);
        for (std::uint32_t i = 0; i < count; ++i) {
            Words words{};
            while (!requests.try_pop(words, polls_in_a_row)) {
                if (!polls.again(polls_in_a_row)) return;
            }
            if (!replies.try_push(words)) return;  // never: there is one line in flight
            polls.found();
        }
    }
};

// The types of the measure `call`: typed messages that fill a line each way, and a handler that
// computes.
struct Tick {
    double bid;
    double ask;
    std::uint64_t time_ns;
    std::uint64_t instrument;
    std::uint64_t order;
    std::uint32_t bid_size;
    std::uint32_t ask_size;
};
struct Quote {
    double price;
    double spread;
    std::uint64_t time_ns;
    std::uint64_t instrument;
    std::uint64_t order;
    std::uint64_t size;
};
static_assert(sizeof(Tick) == detail::payload_bytes && sizeof(Quote) == detail::payload_bytes);

struct Reprice {
    CARILLON_HD Quote operator()(Tick const& tick) const {
        return {(tick.bid + tick.ask) / 2,
                tick.ask - tick.bid,
                tick.time_ns,
                tick.instrument,
                tick.order,
                std::uint64_t{tick.bid_size} + tick.ask_size};
    }
};

// Replaces BlockControl for a block that gets no orders, reports nothing, and ends after a count.
class CountedControl {
   public:
    CARILLON_HD CountedControl(detail::StatusLine* status, std::uint32_t count, Bound bound)
        : status_(status), left_(count), polls_(bound) {}

    CARILLON_HD void report_started() { report_sm(status_); }
    CARILLON_HD void report_ended() {}
    [[nodiscard]] CARILLON_HD bool stop_now() const { return left_ == 0; }
    CARILLON_HD bool busy() {
        polls_.found();
        return --left_ == 0;
    }
    [[nodiscard]] CARILLON_HD static bool was_quick() { return false; }  // each counts
    CARILLON_HD bool idle() {
        if (!polls_.again()) left_ = 0;
        return left_ == 0;
    }
    CARILLON_HD void spin() { idle(); }
    [[nodiscard]] CARILLON_HD static std::uint32_t polls_before_rest() { return 64; }
    CARILLON_HD static void rest(std::uint32_t /*polls*/) {}

   private:
    detail::StatusLine* status_;
    std::uint32_t left_;
    BoundedPolls polls_;
};

// `call` without what a PersistentKernel adds: no stop, no heartbeat, no state.
struct BareReprice {
    detail::ChannelTable channels;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        Reprice handler;
        serve(DeviceChannel<Tick, Quote>(view.requests, view.replies), handler,
              CountedControl(view.status, count, bound));
    }
};

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// The device's side of what `carillon rtt` measures, for the GPU and for the emulated device.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>

#include "kernels/bounded_polls.hpp"

#if !defined(__CUDA_ARCH__)
#include <atomic>
#endif

namespace carillon::tool {

// The rival: a bare 4-byte flag, written and polled the way gdrcopy's pplat does.
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
        return Flag(static_cast<Line*>(slots) + (number & (count - 1)));
    }
};

CARILLON_HD inline void report_sm(StatusLine* status) {
    FlagWriter<std::uint64_t, DeviceFar>(&status->sm).set(DeviceClock::sm());
    FlagWriter<bool, DeviceFar>(&status->started).set(true, OutOfLine::written);
}

// Answers flag 1, 2, ... `count` with the same number.
struct FlagEcho {
    Flags requests;
    Flags replies;
    StatusLine* status;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        report_sm(status);
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
};

// A message that fills a line.
struct Words {
    std::uint32_t word[payload_bytes / sizeof(std::uint32_t)];
};

// Sends `count` messages back as they came: ring to ring.
struct LineEcho {
    ChannelTable channels;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = channels.channel(block);
        DeviceChannel<Words, Words> channel(view.requests, view.replies);
        report_sm(view.status);
        BoundedPolls polls(bound);
        for (std::uint32_t i = 0; i < count; ++i) {
            bool answered = true;  // always: there is one line in flight
            while (!channel.requests.try_consume(
                [&](Line const& line) { answered = channel.replies.try_put(line); })) {
                if (!polls.again()) return;
            }
            if (!answered) return;
            polls.found();
        }
    }
};

// What `call` measures: typed messages that fill a line each way, and a handler that computes.
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
static_assert(sizeof(Tick) == payload_bytes && sizeof(Quote) == payload_bytes);

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

// In place of BlockControl, for a block that is told nothing, tells nothing, and ends by itself.
class CountedControl {
   public:
    CARILLON_HD CountedControl(StatusLine* status, std::uint32_t count, Bound bound)
        : status_(status), left_(count), polls_(bound) {}

    CARILLON_HD void report_started() { report_sm(status_); }
    CARILLON_HD void report_ended() {}
    [[nodiscard]] CARILLON_HD bool stop_now() const { return left_ == 0; }
    CARILLON_HD bool busy() {
        polls_.found();
        return --left_ == 0;
    }
    CARILLON_HD bool idle() {
        if (!polls_.again()) left_ = 0;
        return left_ == 0;
    }
    CARILLON_HD void spin() { idle(); }
    [[nodiscard]] CARILLON_HD static std::uint32_t polls_before_rest() { return 64; }
    CARILLON_HD static void rest(std::uint32_t /*polls*/) {}

   private:
    StatusLine* status_;
    std::uint32_t left_;
    BoundedPolls polls_;
};

// `call` without what a PersistentKernel adds: no stop, no heartbeat, no state.
struct BareReprice {
    ChannelTable channels;
    std::uint32_t count;
    Bound bound;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = channels.channel(block);
        Reprice handler;
        serve(DeviceChannel<Tick, Quote>(view.requests, view.replies), handler,
              CountedControl(view.status, count, bound));
    }
};

}  // namespace carillon::tool

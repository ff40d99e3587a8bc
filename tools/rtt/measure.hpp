// SPDX-License-Identifier: Apache-2.0
// The parts that the measures of `carillon rtt` share, and their factories.
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "kernels/rtt_kernels.hpp"
#include "measure/block_reports.hpp"
#include "measure/latency.hpp"

namespace carillon::tool {

// The parts that all measures share: the same lines of memory, which also note a block's place.
struct RttStage {
    Device device;
    std::shared_ptr<ChannelMemory> memory;
    HostWait wait;
    Bound bound;  // of the kernels of one round
    std::uint32_t warm_up;

    [[nodiscard]] detail::ChannelView host_view() const { return memory->host_view().channel(0); }
    [[nodiscard]] detail::ChannelView device_view() const {
        return memory->device_view().channel(0);
    }
};

// One way of making a round trip. run() makes `count` of them and appends their times.
class Measure {
   public:
    virtual ~Measure() = default;
    virtual void run(std::uint32_t count, Samples& samples) = 0;
    // The SM of the last run's block; -1 if there was no block.
    [[nodiscard]] virtual int sm() const { return -1; }
};

// Times `trip(i)` `count` times, i from `first`.
template <class Trip>
void time_trips_from(std::uint32_t first, std::uint32_t count, Samples& samples, Trip&& trip) {
    using Clock = std::chrono::steady_clock;
    for (std::uint32_t i = first; i != first + count; ++i) {
        auto const start = Clock::now();
        trip(i);
        samples.push_back(static_cast<std::uint32_t>((Clock::now() - start).count()));
    }
}

// Times `trip(i)` `count` times, after `warm_up` trips that are not timed; i counts from 1.
template <class Trip>
void time_trips(std::uint32_t warm_up, std::uint32_t count, Samples& samples, Trip&& trip) {
    for (std::uint32_t i = 1; i <= warm_up; ++i) trip(i);
    time_trips_from(warm_up + 1, count, samples, trip);
}

// Waits until the one block of `kernel` runs. Throws TimeoutError.
inline void await_started(RttStage const& stage, RunningKernel const& kernel) {
    auto const started = [&] {
        return detail::HostCached().load_word(&stage.host_view().status->started) != 0 ||
               kernel.finished();
    };
    if (!HostWait(HostWait::Style::yield).until(started, kernel_limit)) {
        throw TimeoutError("rtt", "the kernel did not start");
    }
}

// The SM of the block that has started.
[[nodiscard]] inline int sm_of(RttStage const& stage) {
    return static_cast<int>(detail::HostCached().load_word(&stage.host_view().status->sm));
}

// Waits until `flag` reads `value`. Throws TimeoutError.
inline void await_flag(HostWait const& wait, Flag flag, std::uint32_t value) {
    auto const watched = [&] { return flag.address(); };
    if (!wait.until([&] { return flag.read() == value; }, watched, round_trip_limit)) {
        throw TimeoutError("rtt", "a flag was not answered");
    }
}

// The factories of the table, which are in measures/. A factory returns null if the device has no
// such measure.
#define MEASURE(name, make) [[nodiscard]] std::unique_ptr<Measure> make(RttStage const& stage);
#include "rtt/measures.def"
#undef MEASURE

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// One question: is the ring between two CPU threads at least as fast as
// boost::lockfree::spsc_queue? An iteration is a batch of 48-byte messages that goes through one,
// and then through the other.
#include "rate/host_ring.hpp"

#include <benchmark/benchmark.h>

#include "measure/turns.hpp"
#include "rate/rate.hpp"

namespace {

using namespace carillon::tool;

void host_ring(benchmark::State& state) {
    HostRingContest contest({});
    for (auto _ : state) {
        take_turns(1, HostRingContest::queues, no_progress,
                   [&](std::size_t queue) { contest.turn(queue); });
    }
    HostRingResult result = contest.result();
    for (HostQueueResult& queue : result.queues) {
        state.counters[queue.name + "/s"] =
            over_rounds(queue.name, RateUnit::per_second, queue.per_second).median;
        state.counters[queue.name + "_rtt_p50_ns"] = queue.round_trips.p50_ns;
    }
    if (result.one_core) state.SetLabel("one core: threads take turns");
}
BENCHMARK(host_ring)->Unit(benchmark::kMillisecond)->Iterations(25)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();

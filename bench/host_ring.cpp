// SPDX-License-Identifier: Apache-2.0
// One question: is the ring between two CPU threads at least as fast as
// boost::lockfree::spsc_queue? An iteration is a batch of 48-byte messages that goes through one,
// and then through the other.
#include "rate/host_ring.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace carillon::tool;

constexpr std::uint64_t messages = 50'000;
constexpr std::uint32_t round_trips = 2'000;

template <class Queue>
class Tally {
   public:
    void round(TwoCores cores, carillon::HostWait const& wait) {
        double const ns = stream_ns<Queue>(cores, wait, messages);
        rates_.push_back(static_cast<std::uint32_t>(static_cast<double>(messages) * 1e6 / ns));
        ping_pong<Queue>(cores, wait, round_trips, samples_);
    }
    void report(benchmark::State& state) {
        std::string const name(Queue::name);
        state.counters[name + "/s"] = 1e3 * summarize(name, rates_).p50_ns;
        state.counters[name + "_rtt_p50_ns"] = summarize(name, samples_).p50_ns;
    }

   private:
    std::vector<std::uint32_t> rates_;  // thousands a second
    std::vector<std::uint32_t> samples_;
};

void host_ring(benchmark::State& state) {
    auto const cores = TwoCores::choose();
    auto const wait = carillon::HostWait::for_kernel(true, 1);
    Tally<OurHostRing> ours;
#if CARILLON_HAVE_BOOST_LOCKFREE
    Tally<BoostQueue> boost;
#endif
    for (auto _ : state) {
        ours.round(cores, wait);
#if CARILLON_HAVE_BOOST_LOCKFREE
        boost.round(cores, wait);
#endif
    }
    ours.report(state);
#if CARILLON_HAVE_BOOST_LOCKFREE
    boost.report(state);
#endif
    if (cores.here == cores.there) state.SetLabel("one core: threads take turns");
}
BENCHMARK(host_ring)->Unit(benchmark::kMillisecond)->Iterations(25)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();

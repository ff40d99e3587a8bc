// SPDX-License-Identifier: Apache-2.0
#include "rate/host_ring.hpp"

#include "measure/turns.hpp"

namespace carillon::tool {

void HostRingContest::turn(std::size_t queue) {
#if CARILLON_HAVE_BOOST_LOCKFREE
    if (queue != 0) return pass<BoostQueue>(queue);
#endif
    pass<OurHostRing>(queue);
}

template <class Queue>
void HostRingContest::pass(std::size_t queue) {
    auto const count = static_cast<double>(options_.messages);
    results_[queue].name = Queue::name;
    results_[queue].per_second.push_back(count * 1e9 /
                                         stream_ns<Queue>(cores_, wait_, options_.messages));
    ping_pong<Queue>(cores_, wait_, options_.round_trips, samples_[queue]);
}

HostRingResult HostRingContest::result() {
    for (std::size_t i = 0; i < results_.size(); ++i) {
        results_[i].round_trips = summarize(results_[i].name, samples_[i]);
    }
    return {cores_.here == cores_.there, results_};
}

HostRingResult run_host_ring(HostRingOptions const& options) {
    HostRingContest contest(options);
    take_turns(options.rounds, HostRingContest::queues, no_progress,
               [&](std::size_t queue) { contest.turn(queue); });
    return contest.result();
}

}  // namespace carillon::tool

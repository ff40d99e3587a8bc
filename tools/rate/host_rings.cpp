// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rate/host_ring.hpp"
#include "rate/rate.hpp"

namespace carillon::tool {

std::vector<RateResult> measure_host_rings(RateOptions const& options) {
    HostRingOptions host;
    // A round is about a twentieth of a second at its defaults.
    auto const rounds = static_cast<std::uint32_t>(options.seconds);
    host.rounds = std::clamp(rounds, 1U, host.rounds);
    if (rounds == 0) {
        host.messages /= 50;
        host.round_trips /= 50;
    }
    std::vector<RateResult> results;
    for (HostQueueResult& queue : run_host_ring(host).queues) {
        results.push_back(over_rounds(queue.name, RateUnit::per_second, queue.per_second));
        LatencySummary const& trips = queue.round_trips;
        results.push_back(
            {queue.name + "-rtt", RateUnit::ns, trips.p50_ns, trips.min_ns, trips.max_ns, {}});
    }
    return results;
}

}  // namespace carillon::tool

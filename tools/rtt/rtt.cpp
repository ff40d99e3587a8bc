// SPDX-License-Identifier: Apache-2.0
#include "rtt/rtt.hpp"

#include <algorithm>

#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

// A kernel of one round ends by itself after so long, whatever happens to the CPU side.
constexpr std::uint64_t kernel_limit_ns = 60'000'000'000;

RttStage make_stage(Device const& device, RttOptions const& options) {
    std::uint32_t const per_round = options.iterations / options.rounds;
    return {device, std::make_shared<ChannelMemory>(device, 1, options.capacity),
            HostWait::for_kernel(device.traits().shares_processors, 1, options.wait),
            Bound{kernel_limit_ns, device.oversubscribed(1)},
            std::min<std::uint32_t>(1000, per_round / 10 + 1)};
}

}  // namespace

RttResult run_rtt(Device const& device, RttOptions const& options, Progress const& progress) {
    if (options.rounds == 0 || options.iterations < options.rounds) {
        throw UsageError("rtt", "as many iterations as rounds are needed, and one round at least");
    }
    RttStage const stage = make_stage(device, options);
    auto measures = make_ring_measures(stage);
    if (device.info().memory_source != MemorySource::host)
        measures.push_back(make_tuned_measure(stage));
    for (auto& launched : make_launch_measures(stage)) measures.push_back(std::move(launched));

    RttResult result;
    result.wait = stage.wait.style();
    std::vector<Samples> samples(measures.size());
    for (Samples& each : samples) each.reserve(options.iterations);
    for (std::uint32_t round = 0; round < options.rounds; ++round) {
        for (std::size_t m = 0; m < measures.size(); ++m) {
            measures[m]->run(options.iterations / options.rounds, samples[m]);
            int const place = measures[m]->multiprocessor();
            if (place >= 0) {
                result.multiprocessors[measures[m]->name()].insert(static_cast<unsigned>(place));
            }
            progress(static_cast<double>(round * measures.size() + m + 1) /
                     static_cast<double>(options.rounds * measures.size()));
        }
    }
    for (std::size_t m = 0; m < measures.size(); ++m) {
        result.summaries.push_back(summarize(measures[m]->name(), samples[m]));
    }
    return result;
}

}  // namespace carillon::tool

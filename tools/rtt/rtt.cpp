// SPDX-License-Identifier: Apache-2.0
#include "rtt/rtt.hpp"

#include <algorithm>

#include "measure/turns.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

RttStage make_stage(Device const& device, RttOptions const& options) {
    std::uint32_t const per_round = options.iterations / options.rounds;
    std::uint32_t const warm_up = std::min<std::uint32_t>(1000, per_round / 10 + 1);
    return {device, std::make_shared<ChannelMemory>(device, 1, options.capacity),
            HostWait::for_kernel(device.traits(), 1, options.wait),
            Bound{kernel_limit_ns(warm_up + per_round), device.oversubscribed(1)}, warm_up};
}

struct NamedMeasure {
    std::string name;
    std::unique_ptr<Measure> measure;
    Samples samples{};
};

std::vector<NamedMeasure> make_measures(RttStage const& stage, std::uint32_t iterations) {
    struct Entry {
        char const* name;
        std::unique_ptr<Measure> (*make)(RttStage const& stage);
    };
    constexpr Entry entries[] = {
#define MEASURE(name, make) {name, make},
#include "rtt/measures.def"
#undef MEASURE
    };
    std::vector<NamedMeasure> measures;
    for (Entry const& each : entries) {
        if (auto measure = each.make(stage)) measures.push_back({each.name, std::move(measure)});
    }
    for (NamedMeasure& each : measures) each.samples.reserve(iterations);
    return measures;
}

}  // namespace

RttResult run_rtt(Device const& device, RttOptions const& options, Progress const& progress) {
    if (options.rounds == 0 || options.iterations < options.rounds) {
        throw UsageError("rtt", "as many iterations as rounds are needed, and one round at least");
    }
    RttStage const stage = make_stage(device, options);
    std::vector<NamedMeasure> measures = make_measures(stage, options.iterations);
    RttResult result;
    result.wait = stage.wait.style();
    Progress const best_cases = progress_of_stage(progress, 0, 2);
    take_turns(options.rounds, measures.size(), best_cases, [&](std::size_t turn) {
        auto& [name, measure, samples] = measures[turn];
        measure->run(options.iterations / options.rounds, samples);
        int const sm = measure->sm();
        if (sm >= 0) result.sms[name].insert(static_cast<unsigned>(sm));
    });
    for (NamedMeasure& each : measures) {
        result.summaries.push_back(summarize(each.name, each.samples));
    }
    measures.clear();
    result.users = run_users(device, options.users.scaled(options.iterations),
                             progress_of_stage(progress, 1, 2));
    return result;
}

}  // namespace carillon::tool

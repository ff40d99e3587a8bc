// SPDX-License-Identifier: Apache-2.0
#include "rtt/rtt.hpp"

#include <fmt/format.h>

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
        throw UsageError("rtt", "there must be at least one round, and one iteration per round");
    }
    RttStage const stage = make_stage(device, options);
    std::vector<NamedMeasure> measures = make_measures(stage, options.iterations);
    RttResult result;
    result.wait = stage.wait.style();
    take_turns(options.rounds, measures.size(), progress, [&](std::size_t turn) {
        auto& [name, measure, samples] = measures[turn];
        measure->run(options.iterations / options.rounds, samples);
        int const sm = measure->sm();
        if (sm >= 0) result.sms[name].insert(static_cast<unsigned>(sm));
    });
    for (NamedMeasure& each : measures) {
        if (each.samples.empty()) continue;
        result.summaries.push_back(summarize(each.name, each.samples));
    }
    return result;
}

std::string rtt_summary(RttResult const& result, bool emulated) {
    auto const find = [&](char const* name) {
        return std::ranges::find(result.summaries, name, &LatencySummary::name);
    };
    auto const call = find("call");
    if (call == result.summaries.end()) return "";
    std::string text = fmt::format("call: p50 {:.2f} us, p99 {:.2f} us, p99.9 {:.2f} us",
                                   call->p50_ns / 1000, call->p99_ns / 1000, call->p999_ns / 1000);
    auto const launch = find("launch-sync");
    if (launch != result.summaries.end()) {
        text += fmt::format("; {:.1f} times faster than a launch ({:.2f} us)",
                            launch->p50_ns / call->p50_ns, launch->p50_ns / 1000);
    }
    return text + (emulated ? " (EMULATED)\n" : "\n");
}

}  // namespace carillon::tool

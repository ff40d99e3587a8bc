// SPDX-License-Identifier: Apache-2.0
#include "rate/rate.hpp"

#include <algorithm>
#include <cmath>

#include "measure/turns.hpp"
#include "rate/rate_measures.hpp"

namespace carillon::tool {

std::vector<RateResult> run_rate(Device const& device, RateOptions const& options,
                                 Progress const& progress) {
    if (options.rounds == 0) throw UsageError("rate", "there must be at least one round");
    if (options.warps == 0 || options.warps > 32) {
        throw UsageError("rate", "a block has 1 to 32 warps, not " + std::to_string(options.warps));
    }
    if (options.batch == 0) throw UsageError("rate", "a push has at least one message");
    RateStage const stage{device, options, detail::cpu::available_processors()};
    RateMeasures measures;
    add_line_measures(stage, measures);
    add_pinned_measures(stage, measures);
    add_reply_measures(stage, measures);
    add_store_measures(stage, measures);
    add_cost_measures(stage, measures);

    auto const runs = static_cast<double>(options.rounds * measures.size());
    std::chrono::nanoseconds const each(std::llround(1e9 * options.seconds / runs));
    std::vector<std::vector<double>> rounds(measures.size());
    take_turns(options.rounds, measures.size(), progress,
               [&](std::size_t m) { rounds[m].push_back(measures[m]->run(each)); });
    std::vector<RateResult> results;
    for (std::size_t m = 0; m < measures.size(); ++m) {
        if (rounds[m].empty()) continue;  // an interrupt came before
        results.push_back(over_rounds(measures[m]->name(), measures[m]->unit(), rounds[m]));
        results.back().parameters = measures[m]->parameters();
    }
    return results;
}

RateResult over_rounds(std::string name, RateUnit unit, std::vector<double>& rounds) {
    std::sort(rounds.begin(), rounds.end());
    std::size_t const half = rounds.size() / 2;
    double const median =
        rounds.size() % 2 != 0 ? rounds[half] : (rounds[half - 1] + rounds[half]) / 2;
    return {std::move(name), unit, median, rounds.front(), rounds.back(), {}};
}

}  // namespace carillon::tool

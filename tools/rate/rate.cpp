// SPDX-License-Identifier: Apache-2.0
#include "rate/rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rate/measures.hpp"

namespace carillon::tool {

std::vector<RateResult> run_rate(Device const& device, RateOptions const& options,
                                 std::function<void(double share)> const& progress) {
    if (options.rounds == 0) throw UsageError("rate", "one round at least is needed");
    if (options.warps == 0 || options.warps > 32) {
        throw UsageError("rate", "a block has 1 to 32 warps");
    }
    if (options.batch == 0) throw UsageError("rate", "a push is of one message at least");
    RateStage const stage{device, options, cpu::available_processors()};
    RateMeasures measures;
    add_line_measures(stage, measures);
    add_reply_measures(stage, measures);
    add_store_measures(stage, measures);
    add_cost_measures(stage, measures);

    auto const runs = static_cast<double>(options.rounds * measures.size());
    std::chrono::nanoseconds const each(std::llround(1e9 * options.seconds / runs));
    std::vector<std::vector<double>> rounds(measures.size());
    for (std::uint32_t round = 0; round < options.rounds; ++round) {
        for (std::size_t m = 0; m < measures.size(); ++m) {
            rounds[m].push_back(measures[m]->run(each));
            progress(static_cast<double>(round * measures.size() + m + 1) / runs);
        }
    }
    std::vector<RateResult> results;
    for (std::size_t m = 0; m < measures.size(); ++m) {
        results.push_back(over_rounds(measures[m]->name(), measures[m]->unit(), rounds[m]));
        results.back().parameters = measures[m]->parameters();
    }
    for (RateResult& each_ring : measure_host_rings(options)) {
        results.push_back(std::move(each_ring));
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

nlohmann::json to_json(RateResult const& result) {
    nlohmann::json json =
        result.parameters.is_object() ? result.parameters : nlohmann::json::object();
    std::string const unit = result.unit == RateUnit::ns ? "ns" : "per_second";
    json["name"] = result.name;
    json[unit] = result.median;
    json[unit + "_min"] = result.min;
    json[unit + "_max"] = result.max;
    return json;
}

std::string rate_table(std::vector<RateResult> const& results) {
    std::string text =
        fmt::format("{:<24}{:>10}{:>10}{:>10}{:>8}\n", "", "median", "min", "max", "");
    for (RateResult const& each : results) {
        bool const ns = each.unit == RateUnit::ns;
        double const unit = ns ? 1 : 1e6;
        text +=
            fmt::format("{:<24}{:>10.2f}{:>10.2f}{:>10.2f}{:>8}{}\n", each.name, each.median / unit,
                        each.min / unit, each.max / unit, ns ? "ns" : "M/s",
                        each.parameters.contains("producers")
                            ? fmt::format("  {} threads", each.parameters["producers"].get<int>())
                            : "");
    }
    return text;
}

}  // namespace carillon::tool

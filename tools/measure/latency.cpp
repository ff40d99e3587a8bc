// SPDX-License-Identifier: Apache-2.0
#include "measure/latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace carillon::tool {

std::vector<double> quantile_shares() {
    std::vector<double> shares;
    shares.reserve(104);
    for (int percent = 0; percent < 100; ++percent) shares.push_back(percent / 100.0);
    for (double tail : {0.999, 0.9999, 0.99999, 1.0}) shares.push_back(tail);
    return shares;
}

LatencySummary summarize(std::string name, Samples& samples) {
    LatencySummary summary;
    summary.name = std::move(name);
    summary.count = samples.size();
    if (samples.empty()) return summary;
    std::sort(samples.begin(), samples.end());
    auto const rank = [&](double share) {
        auto const nth = std::ceil(share * static_cast<double>(samples.size()));
        return static_cast<double>(samples[static_cast<std::size_t>(std::max(nth, 1.0)) - 1]);
    };
    summary.min_ns = samples.front();
    summary.p50_ns = rank(0.5);
    summary.p90_ns = rank(0.9);
    summary.p99_ns = rank(0.99);
    summary.p999_ns = rank(0.999);
    summary.max_ns = samples.back();
    for (double share : quantile_shares()) summary.quantiles.push_back(rank(share));
    return summary;
}

nlohmann::json to_json(LatencySummary const& s) {
    return {{"name", s.name},       {"count", s.count},   {"min_ns", s.min_ns},
            {"p50_ns", s.p50_ns},   {"p90_ns", s.p90_ns}, {"p99_ns", s.p99_ns},
            {"p999_ns", s.p999_ns}, {"max_ns", s.max_ns}, {"quantiles_ns", s.quantiles}};
}

std::string latency_table(std::vector<LatencySummary> const& summaries) {
    std::string text = fmt::format("{:<18}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}\n", "ns", "count",
                                   "min", "p50", "p90", "p99", "p99.9", "max");
    for (LatencySummary const& s : summaries) {
        text +=
            fmt::format("{:<18}{:>10}{:>9.0f}{:>9.0f}{:>9.0f}{:>9.0f}{:>9.0f}{:>11.0f}\n", s.name,
                        s.count, s.min_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.p999_ns, s.max_ns);
    }
    return text;
}

double clock_cost_ns() {
    using Clock = std::chrono::steady_clock;
    Samples samples(100'000);
    for (auto& sample : samples) {
        auto const start = Clock::now();
        sample = static_cast<std::uint32_t>((Clock::now() - start).count());
    }
    return summarize("clock", samples).p50_ns;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Latency samples and their summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace carillon::tool {

using Samples = std::vector<std::uint32_t>;  // in nanoseconds

struct LatencySummary {
    std::string name;
    std::size_t count = 0;
    double min_ns = 0;
    double p50_ns = 0;
    double p90_ns = 0;
    double p99_ns = 0;
    double p999_ns = 0;
    double max_ns = 0;
    std::vector<double> quantiles{};  // at quantile_shares(), for plots
};

// 0, 1, ... 99 %, and 99.9 %, 99.99 %, 99.999 %, 100 %.
[[nodiscard]] std::vector<double> quantile_shares();

// Exact order statistics (nearest rank) of samples in nanoseconds; sorts them. All 0 without any.
[[nodiscard]] LatencySummary summarize(std::string name, Samples& samples);

[[nodiscard]] nlohmann::json to_json(LatencySummary const& summary);

// A table for people, one row a summary, times in nanoseconds.
[[nodiscard]] std::string latency_table(std::vector<LatencySummary> const& summaries);

// The median difference of two readings of the clock in a row, which every sample contains.
[[nodiscard]] double clock_cost_ns();

}  // namespace carillon::tool

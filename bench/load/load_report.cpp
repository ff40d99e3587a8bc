// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "load/load.hpp"

namespace carillon::tool {

nlohmann::json to_json(LoadLevel const& level) {
    nlohmann::json json = to_json(level.latency);
    json["percent"] = level.percent;
    json["offered_per_second"] = level.offered;
    json["achieved_per_second"] = level.achieved;
    json["late"] = level.late;
    return json;
}

std::string load_table(LoadResult const& result) {
    std::vector<LatencySummary> latencies;
    for (LoadLevel const& level : result.levels) latencies.push_back(level.latency);
    if (latencies.empty()) return "";  // an interrupt came before
    std::string text =
        fmt::format("one channel takes {:.0f} calls/s{}\n", result.channel_per_second,
                    result.launch_per_second > 0
                        ? fmt::format(", a stream {:.0f} launches/s", result.launch_per_second)
                        : "");
    text += latency_table(latencies);
    text +=
        fmt::format("{:<18}{:>14}{:>14}{:>14}\n", "calls/s", "offered", "achieved", "sent late");
    for (LoadLevel const& level : result.levels) {
        text += fmt::format("{:<18}{:>14.0f}{:>14.0f}{:>14}\n", level.latency.name, level.offered,
                            level.achieved, level.late);
    }
    return text;
}

std::string load_summary(LoadResult const& result) {
    auto const half = std::ranges::find(result.levels, 50U, &LoadLevel::percent);
    if (half == result.levels.end()) return "";
    return fmt::format(
        "at half of the highest rate, {:.2f} M calls/s: p50 {:.2f} us, p99 {:.2f} us\n",
        half->achieved / 1e6, half->latency.p50_ns / 1000, half->latency.p99_ns / 1000);
}

}  // namespace carillon::tool

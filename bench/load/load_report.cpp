// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
    std::string text = fmt::format(
        "one channel takes {:.0f} calls a second{}\n", result.channel_per_second,
        result.launch_per_second > 0 ? fmt::format(", {:.0f} launches", result.launch_per_second)
                                     : "");
    text += latency_table(latencies);
    text += fmt::format("{:<14}{:>14}{:>14}{:>14}\n", "calls a second", "offered", "achieved",
                        "sent late");
    for (LoadLevel const& level : result.levels) {
        text += fmt::format("{:<14}{:>14.0f}{:>14.0f}{:>14}\n", level.latency.name, level.offered,
                            level.achieved, level.late);
    }
    return text;
}

}  // namespace carillon::tool

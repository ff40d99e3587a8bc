// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "rate/rate.hpp"

namespace carillon::tool {

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

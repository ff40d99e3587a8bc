// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

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

namespace {

std::string threads_text(int threads) {
    return fmt::format("  {} thread{}", threads, threads == 1 ? "" : "s");
}

}  // namespace

std::string rate_table(std::vector<RateResult> const& results) {
    std::string text =
        fmt::format("{:<26}{:>14}{:>14}{:>14}{:>6}\n", "", "median", "min", "max", "");
    for (RateResult const& each : results) {
        bool const ns = each.unit == RateUnit::ns;
        double const unit = ns ? 1 : 1e6;
        text += fmt::format("{:<26}{:>14.2f}{:>14.2f}{:>14.2f}{:>6}{}\n", each.name,
                            each.median / unit, each.min / unit, each.max / unit, ns ? "ns" : "M/s",
                            each.parameters.contains("producers")
                                ? threads_text(each.parameters["producers"].get<int>())
                                : "");
    }
    return text;
}

std::string rate_summary(std::vector<RateResult> const& results) {
    struct Part {
        char const* name;
        char const* text;
    };
    constexpr std::array<Part, 3> parts{
        {{"lines-1p1c", "one thread to one ring: {:.2f} M/s"},
         {"lines-8p8r", "threads with rings of their own: {:.2f} M/s"},
         {"try-push-single", "a push: {:.0f} ns"}}};
    std::string text;
    for (Part const& part : parts) {
        auto const found = std::ranges::find(results, part.name, &RateResult::name);
        if (found == results.end()) continue;
        double const unit = found->unit == RateUnit::ns ? 1 : 1e6;
        text +=
            (text.empty() ? "" : "; ") + fmt::format(fmt::runtime(part.text), found->median / unit);
    }
    return text.empty() ? text : text + '\n';
}

}  // namespace carillon::tool

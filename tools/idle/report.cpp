// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "idle/idle.hpp"

namespace carillon::tool {
namespace {

std::string watts(std::optional<double> power) {
    return power ? fmt::format("{:.0f}", *power) : "-";
}

}  // namespace

nlohmann::json to_json(IdleResult const& result) {
    nlohmann::json json{{"name", result.name},
                        {"polls", result.policy.polls},
                        {"longest_sleep_ns", result.policy.longest_sleep_ns},
                        {"busy", to_json(result.busy)},
                        {"woken", to_json(result.woken)}};
    if (result.power) json["power_w"] = *result.power;
    return json;
}

std::string idle_table(IdleReport const& report) {
    std::string text = fmt::format("{:<10}{:>10}{:>12}{:>12}{:>8}\n", "policy", "busy p50",
                                   "woken p50", "woken p99", "W");
    for (IdleResult const& each : report.policies) {
        text += fmt::format("{:<10}{:>10.0f}{:>12.0f}{:>12.0f}{:>8}\n", each.name, each.busy.p50_ns,
                            each.woken.p50_ns, each.woken.p99_ns, watts(each.power));
    }
    if (report.power_without_kernel) {
        text += fmt::format("{:<10}{:>42}\n", "no kernel", watts(report.power_without_kernel));
    }
    return text;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "idle/idle.hpp"

namespace carillon::tool {
namespace {

std::string watts(std::optional<double> power) {
    return power ? fmt::format("{:.0f}", *power) : "-";
}

std::string nanoseconds(LatencySummary const& calls, double LatencySummary::*figure) {
    return calls.count != 0 ? fmt::format("{:.0f}", calls.*figure) : "-";
}

void add(nlohmann::json& json, char const* key, LatencySummary const& calls) {
    if (calls.count != 0) json[key] = to_json(calls);
}

}  // namespace

nlohmann::json to_json(IdleResult const& result) {
    nlohmann::json json{{"name", result.name},
                        {"polls", result.policy.polls},
                        {"longest_sleep_ns", result.policy.longest_sleep_ns}};
    add(json, "busy", result.busy);
    add(json, "woken", result.woken);
    add(json, "warm", result.warm);
    if (result.power) json["power_w"] = *result.power;
    return json;
}

nlohmann::json to_json(IdleLine const& line) {
    nlohmann::json json = nlohmann::json::object();
    add(json, "busy", line.busy);
    add(json, "woken", line.woken);
    add(json, "spun", line.spun);
    return json;
}

std::string idle_table(IdleReport const& report) {
    std::string text =
        fmt::format("{:<14}{:>10}{:>12}{:>12}{:>12}{:>12}{:>8}\n", "policy", "busy p50",
                    "slept p50", "slept p99", "awake p50", "awake p99", "W");
    auto const row = [&](std::string const& name, LatencySummary const& busy,
                         LatencySummary const& slept, LatencySummary const& awake,
                         std::string const& power) {
        text += fmt::format("{:<14}{:>10}{:>12}{:>12}{:>12}{:>12}{:>8}\n", name,
                            nanoseconds(busy, &LatencySummary::p50_ns),
                            nanoseconds(slept, &LatencySummary::p50_ns),
                            nanoseconds(slept, &LatencySummary::p99_ns),
                            nanoseconds(awake, &LatencySummary::p50_ns),
                            nanoseconds(awake, &LatencySummary::p99_ns), power);
    };
    for (IdleResult const& each : report.policies) {
        row(each.name, each.busy, each.woken, each.warm, watts(each.power));
    }
    if (report.line.busy.count != 0)
        row("a bare line", report.line.busy, report.line.woken, report.line.spun, "");
    if (report.power_without_kernel) {
        text += fmt::format("{:<14}{:>66}\n", "no kernel", watts(report.power_without_kernel));
    }
    return text;
}

std::string idle_summary(IdleReport const& report) {
    std::string text;
    for (IdleResult const& each : report.policies) {
        if (each.woken.count == 0) continue;
        text += fmt::format("{}{}: {:.1f} us", text.empty() ? "a call after sleep, p50: " : ", ",
                            each.name, each.woken.p50_ns / 1000);
    }
    return text.empty() ? text : text + '\n';
}

}  // namespace carillon::tool

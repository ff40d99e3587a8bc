// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <carillon/error.hpp>
#include <cmath>

#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

nlohmann::json usage_json(SoakUsage const& usage) {
    return {{"resident_bytes", usage.resident_bytes},
            {"descriptors", usage.descriptors},
            {"threads", usage.threads}};
}

nlohmann::json memory_json(SoakMemory const& memory) {
    return {{"warm", usage_json(memory.warm)},
            {"end", usage_json(memory.end)},
            {"flat", memory.flat()}};
}

std::string memory_table(SoakMemory const& memory) {
    std::string text =
        fmt::format("{:<12}{:>14}{:>14}{:>10}\n", "", "resident KiB", "descriptors", "threads");
    auto const row = [&](std::string_view name, SoakUsage const& usage) {
        text += fmt::format("{:<12}{:>14}{:>14}{:>10}\n", name, usage.resident_bytes / 1024,
                            usage.descriptors, usage.threads);
    };
    row("warmed up", memory.warm);
    row("at the end", memory.end);
    return text + (memory.flat() ? "flat\n" : "NOT FLAT\n");
}

bool is_known(double rate) { return std::isfinite(rate) && rate > 0; }

std::string rate_text(double rate) { return is_known(rate) ? fmt::format("{:.0f}", rate) : "-"; }

void require_flat(SoakMemory const& memory) {
    if (!memory.flat()) throw Error("soak", "memory, descriptors or threads grew");
}

}  // namespace

nlohmann::json to_json(SoakResult const& result) {
    SoakCounts const& counts = result.counts;
    nlohmann::json json{{"soak_commands", counts.commands},
                        {"soak_lost", counts.lost},
                        {"soak_duplicated", counts.duplicated},
                        {"soak_reordered", counts.reordered},
                        {"soak_corrupted", counts.corrupted},
                        {"soak_abandoned", counts.abandoned},
                        {"channels", result.channels},
                        {"lines", result.lines},
                        {"seconds", result.seconds},
                        {"load_percent", result.load_percent},
                        {"memory", memory_json(result.memory)},
                        {"failure", result.failure}};
    if (is_known(result.highest_per_second)) json["highest_per_second"] = result.highest_per_second;
    if (is_known(result.achieved_per_second)) {
        json["achieved_per_second"] = result.achieved_per_second;
    }
    return json;
}

nlohmann::json to_json(CyclesResult const& result) {
    return {{"start_stop_cycles", result.cycles},
            {"failures", result.failures},
            {"first_failure", result.first_failure},
            {"cycles_per_second", result.per_second},
            {"memory", memory_json(result.memory)}};
}

std::string soak_text(SoakResult const& result) {
    SoakCounts const& counts = result.counts;
    std::string text = fmt::format(
        "{:.1f} s on {} channel{}, {} line{} per message, {} % of {} requests/s: {} "
        "requests/s "
        "achieved\n"
        "{:<14}{:>12}{:>12}{:>12}{:>12}{:>12}\n{:<14}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
        result.seconds, result.channels, result.channels == 1 ? "" : "s", result.lines,
        result.lines == 1 ? "" : "s", result.load_percent, rate_text(result.highest_per_second),
        rate_text(result.achieved_per_second), "requests", "lost", "duplicated", "reordered",
        "corrupted", "abandoned", counts.commands, counts.lost, counts.duplicated, counts.reordered,
        counts.corrupted, counts.abandoned);
    if (!result.failure.empty()) return text + fmt::format("failed: {}\n", result.failure);
    return text + memory_table(result.memory);
}

std::string cycles_text(CyclesResult const& result) {
    std::string text = fmt::format("{} starts and stops, {} failed, {:.1f} per second\n",
                                   result.cycles, result.failures, result.per_second);
    if (result.failures != 0) text += fmt::format("the first failure: {}\n", result.first_failure);
    return text + memory_table(result.memory);
}

void require_sound(SoakResult const& result) {
    SoakCounts const& counts = result.counts;
    if (!result.failure.empty()) throw Error("soak", result.failure);
    if (!counts.nothing_lost()) {
        throw Error("soak", fmt::format("{} lost, {} duplicated, {} reordered, {} corrupted of {}",
                                        counts.lost, counts.duplicated, counts.reordered,
                                        counts.corrupted, counts.commands));
    }
    require_flat(result.memory);
}

void require_sound(CyclesResult const& result) {
    if (result.failures != 0) {
        throw Error("soak", fmt::format("{} of {} starts and stops failed: {}", result.failures,
                                        result.failures + result.cycles, result.first_failure));
    }
    require_flat(result.memory);
}

}  // namespace carillon::tool

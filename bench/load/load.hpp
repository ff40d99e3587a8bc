// SPDX-License-Identifier: Apache-2.0
// `carillon-bench load`: how long a call takes while others are outstanding, in an open loop.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "load/schedule.hpp"
#include "measure/latency.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct LoadOptions {
    std::optional<std::uint32_t> samples;  // per level; none: the device's default
    std::uint32_t rounds = 10;             // in which the levels take turns
    std::uint32_t capacity = 256;          // slots of the channel, and most outstanding calls
};

// One rate that was asked for: a share of the highest one.
struct LoadLevel {
    LatencySummary latency;  // from when a call was due to its reply
    unsigned percent = 0;    // of the highest rate; 0 for one call at a time
    double offered = 0;      // calls a second
    double achieved = 0;     // the median of the rounds
    std::uint64_t late = 0;  // calls that were sent over a microsecond late
};

struct LoadResult {
    // The highest rate of one channel, 0 if an interrupt came before, and of launches.
    double channel_per_second = 0;
    double launch_per_second = 0;  // 0: not measured
    std::vector<LoadLevel> levels;
};

// Throws what the library throws, and TimeoutError when replies stop coming.
[[nodiscard]] LoadResult run_load(Device const& device, LoadOptions const& options,
                                  Progress const& progress);

[[nodiscard]] nlohmann::json to_json(LoadLevel const& level);
[[nodiscard]] std::string load_table(LoadResult const& result);
// The main figures in a line.
[[nodiscard]] std::string load_summary(LoadResult const& result);

[[nodiscard]] std::unique_ptr<Command> make_load_command();

}  // namespace carillon::tool

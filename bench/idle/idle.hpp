// SPDX-License-Identifier: Apache-2.0
// `carillon-bench idle`: by idle policy, the cost of waking a block that has had nothing to do,
// beside a bare line to a block that only polls; and the power that its waiting takes.
#pragma once

#include <carillon/kernel.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "measure/latency.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct IdleOptions {
    std::uint32_t calls = 200;  // of each policy, each after a pause
    std::uint32_t pause_us = 5000;
    unsigned blocks = 0;  // 0: as many as a GPU has SMs, 1 on the emulated device
};

// An interrupt leaves summaries without calls, and the last policies out.
struct IdleResult {
    std::string name;
    IdlePolicy policy;
    LatencySummary busy;   // one call right after another
    LatencySummary woken;  // calls after a pause in which the thread slept
    LatencySummary warm;   // calls after a pause in which it called Client::warm() all the time
    // The GPU's power in watts while all blocks wait; none if nvidia-smi does not report it.
    std::optional<double> power;
};

// Latencies of a bare line, ring to ring, to one block that polls.
struct IdleLine {
    LatencySummary busy;
    LatencySummary woken;
    LatencySummary spun;  // after a pause in which the thread spun
};

struct IdleReport {
    unsigned blocks = 0;
    std::optional<double> power_without_kernel;
    std::vector<IdleResult> policies;
    IdleLine line;
};

// Throws what the library throws.
[[nodiscard]] IdleReport run_idle(Device const& device, IdleOptions const& options,
                                  Progress const& progress);

[[nodiscard]] nlohmann::json to_json(IdleResult const& result);
[[nodiscard]] nlohmann::json to_json(IdleLine const& line);
[[nodiscard]] std::string idle_table(IdleReport const& report);
// The main figures in a line.
[[nodiscard]] std::string idle_summary(IdleReport const& report);

[[nodiscard]] std::unique_ptr<Command> make_idle_command();

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// `carillon rtt`: round trips CPU -> device -> CPU, ours and the alternatives', in one run.
#pragma once

#include <carillon/device.hpp>
#include <carillon/wait.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "measure/latency.hpp"
#include "measure/progress.hpp"
#include "rtt/users.hpp"

namespace carillon::tool {

struct RttOptions {
    std::uint32_t iterations = 100'000;  // round trips per measure, without the warm-up
    std::uint32_t rounds = 20;           // the measures take turns, so that drift hits all alike
    std::uint32_t capacity = 64;         // slots; the bare flags walk over as many addresses
    std::optional<HostWait::Style> wait = std::nullopt;  // of the CPU; none: as for a kernel
    UsersOptions users;
};

struct RttResult {
    HostWait::Style wait = HostWait::Style::spin;
    std::vector<LatencySummary> summaries;  // without measures that an interrupt left out
    // The SMs that each measure's block ran on: ratios hold only on the same ones.
    std::map<std::string, std::set<unsigned>> sms;
};

// The first part; run_users() is the second. Throws what the library throws, and TimeoutError when
// a round trip takes over a second.
[[nodiscard]] RttResult run_rtt(Device const& device, RttOptions const& options,
                                Progress const& progress);

// The result in a line: calls, and how much longer a launch takes. Empty if there were no calls.
[[nodiscard]] std::string rtt_summary(RttResult const& result, bool emulated);

[[nodiscard]] std::unique_ptr<Command> make_rtt_command();

}  // namespace carillon::tool

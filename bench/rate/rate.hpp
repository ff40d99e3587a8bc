// SPDX-License-Identifier: Apache-2.0
// `carillon-bench rate`: messages per second and the cost of a push, ours and the alternatives', in
// one run.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct RateOptions {
    double seconds = 20;             // for all measures together
    std::uint32_t rounds = 5;        // in which they take turns
    std::uint32_t capacity = 16384;  // slots of a ring
    std::uint32_t stripe = 64;       // slots that a warp claims at once
    std::uint32_t warps = 8;         // of a block that takes messages
    std::uint32_t batch = 256;       // messages of a push, where one thread has the ring
};

enum class RateUnit : bool { per_second, ns };

struct RateResult {
    std::string name;
    RateUnit unit = RateUnit::per_second;
    double median = 0;  // over the rounds
    double min = 0;
    double max = 0;
    nlohmann::json parameters = nlohmann::json::object();
};

// Throws what the library throws, TimeoutError when messages stop coming, and Error when other
// messages come than were sent.
[[nodiscard]] std::vector<RateResult> run_rate(Device const& device, RateOptions const& options,
                                               Progress const& progress);

// The median, lowest and highest of `rounds`, which must not be empty; sorts them.
[[nodiscard]] RateResult over_rounds(std::string name, RateUnit unit, std::vector<double>& rounds);

[[nodiscard]] nlohmann::json to_json(RateResult const& result);
// A table for people: millions a second, or nanoseconds.
[[nodiscard]] std::string rate_table(std::vector<RateResult> const& results);
// The main figures in a line.
[[nodiscard]] std::string rate_summary(std::vector<RateResult> const& results);

[[nodiscard]] std::unique_ptr<Command> make_rate_command();

}  // namespace carillon::tool

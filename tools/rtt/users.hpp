// SPDX-License-Identifier: Apache-2.0
// The second part of `carillon rtt`: the uses of real programs. Kernels with default options,
// messages of many sizes, many threads, large rings, calls after a pause, requests in a row; and
// their alternatives.
#pragma once

#include <carillon/device.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/latency.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct UsersOptions {
    // Calls of each thread in each row, without the warm-up; none: the number that scaled()
    // chooses.
    std::optional<std::uint32_t> iterations = std::nullopt;
    std::chrono::nanoseconds pause = std::chrono::milliseconds(3);
    // Filled in by scaled().
    std::uint32_t rounds = 1;
    std::uint32_t pauses = 1;  // of each row, in all

    // Fills in the counts that suit a first part with so many iterations of each measure.
    [[nodiscard]] UsersOptions scaled(std::uint32_t of_first_part) const;
};

// A row of one of the tables, which are called payload, threads, capacity, pause and requests.
struct UsersFigure {
    std::string table;
    std::string name;
    nlohmann::json fields;       // what it was measured with
    LatencySummary latency;      // of no calls where only their number a second was measured
    std::vector<double> rounds;  // calls a second in each, sorted; none where they are not counted
    std::string why_not;         // why there are no figures; empty when there are

    [[nodiscard]] double per_second() const;  // the median of the rounds
};

struct UsersResult {
    UsersOptions options;
    bool placed = false;  // the device has a profile, which default options go by
    std::vector<UsersFigure> figures;
};

// Throws what the library throws, TimeoutError when a reply does not come, and Error when a wrong
// one comes.
[[nodiscard]] UsersResult run_users(Device const& device, UsersOptions const& options,
                                    Progress const& progress);

[[nodiscard]] nlohmann::json to_json(UsersFigure const& figure);
// The tables, for people.
[[nodiscard]] std::string users_tables(UsersResult const& result);

}  // namespace carillon::tool

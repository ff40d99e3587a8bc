// SPDX-License-Identifier: Apache-2.0
#include "rtt/users.hpp"

#include <algorithm>
#include <carillon/detail/machine/pause.hpp>
#include <carillon/placement.hpp>
#include <utility>

#include "measure/turns.hpp"
#include "rtt/users/users_rows.hpp"

namespace carillon::tool {
namespace {

// All rows are measured together, so that the rows of all tables can be compared.
UsersRows make_rows(UsersStage const& stage) {
    UsersRows rows;
    add_payload_rows(stage, rows);
    add_thread_rows(stage, rows);
    add_capacity_rows(stage, rows);
    add_pause_rows(stage, rows);
    add_request_rows(stage, rows);
    return rows;
}

UsersStage make_stage(Device const& device, UsersOptions const& options, std::uint32_t count) {
    std::uint32_t const pauses = std::max(options.pauses / options.rounds, 1U);
    return {device, std::min<std::uint32_t>(1000, count / 10 + 1), options.pause, pauses,
            detail::cpu::available_processors()};
}

UsersFigure figure_of(UsersRow& row) {
    UsersFigure figure{row.table,
                       row.name,
                       row.fields,
                       summarize(row.name, row.figures.latencies),
                       std::move(row.figures.per_second),
                       row.why_not};
    std::sort(figure.rounds.begin(), figure.rounds.end());
    return figure;
}

// By an interrupt before its first turn.
bool is_left_out(UsersRow const& row) {
    return interrupted() && row.figures.latencies.empty() && row.figures.per_second.empty();
}

}  // namespace

UsersOptions UsersOptions::scaled(std::uint32_t of_first_part) const {
    UsersOptions all = *this;
    if (!iterations) all.iterations = std::clamp(of_first_part / 10, 1U, 50'000U);
    all.rounds = std::min(5U, *all.iterations);
    all.pauses = std::clamp(*all.iterations / 50, all.rounds, 500U);
    return all;
}

double UsersFigure::per_second() const {
    std::size_t const half = rounds.size() / 2;
    return rounds.size() % 2 != 0 ? rounds[half] : (rounds[half - 1] + rounds[half]) / 2;
}

UsersResult run_users(Device const& device, UsersOptions const& options, Progress const& progress) {
    std::uint32_t const count = options.iterations.value_or(1) / options.rounds;
    UsersRows rows = make_rows(make_stage(device, options, count));
    for (UsersRow& row : rows) row.figures.latencies.reserve(std::size_t{count} * options.rounds);
    UsersResult result;
    result.options = options;
    std::string why_not;
    result.placed = find_placement_profile(device.info(), why_not).has_value();
    take_turns(options.rounds, rows.size(), progress, [&](std::size_t turn) {
        UsersRow& row = rows[turn];
        if (row.measure) row.measure->run(count, row.figures);
    });
    for (UsersRow& row : rows) {
        if (!is_left_out(row)) result.figures.push_back(figure_of(row));
    }
    return result;
}

}  // namespace carillon::tool

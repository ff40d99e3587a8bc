// SPDX-License-Identifier: Apache-2.0
// `carillon top`: the rates of everything that owners serve.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "report/output.hpp"
#include "report/owners.hpp"

namespace carillon::tool {

// Events per second of a block and its clients between two reports.
struct BlockRates {
    double submitted = 0;
    double answered = 0;
    double stalls = 0;
    double beats = 0;
};

// The rates of each block of `now`. They are zero if the owner has changed, or was not asked
// before. A number that decreases, as a hostile client's may, counts as unchanged.
[[nodiscard]] std::vector<BlockRates> rates(OwnerReport const& before, OwnerReport const& now);

// A table for each owner as text, in lines of up to `width` characters where that is possible, and
// all owners as JSON. `before` is empty the first time.
[[nodiscard]] std::string to_text(std::vector<OwnerReport> const& before,
                                  std::vector<OwnerReport> const& now,
                                  std::size_t width = unlimited_width);
[[nodiscard]] nlohmann::json to_json(std::vector<OwnerReport> const& before,
                                     std::vector<OwnerReport> const& now);

[[nodiscard]] std::unique_ptr<Command> make_top_command();

}  // namespace carillon::tool

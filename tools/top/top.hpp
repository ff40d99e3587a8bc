// SPDX-License-Identifier: Apache-2.0
// `carillon top`: what goes through what is served, a second.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "report/owners.hpp"

namespace carillon::tool {

// What a block, and its clients, did a second between two reports.
struct BlockRates {
    double submitted = 0;
    double answered = 0;
    double stalls = 0;
    double beats = 0;
};

// Those of each block of `now`; of an owner that is another now, or was not asked before, zeros.
// A number that runs backwards, as a hostile client's may, counts as one that stands still.
[[nodiscard]] std::vector<BlockRates> rates(OwnerReport const& before, OwnerReport const& now);

// A table of all owners, and the same as an object; `before` is empty the first time.
[[nodiscard]] std::string to_text(std::vector<OwnerReport> const& before,
                                  std::vector<OwnerReport> const& now);
[[nodiscard]] nlohmann::json to_json(std::vector<OwnerReport> const& before,
                                     std::vector<OwnerReport> const& now);

[[nodiscard]] std::unique_ptr<Command> make_top_command();

}  // namespace carillon::tool

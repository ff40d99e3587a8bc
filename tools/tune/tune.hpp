// SPDX-License-Identifier: Apache-2.0
// `carillon tune`: the SMs, pages and cores that make calls short.
#pragma once

#include <carillon/placement.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"

namespace carillon::tool {

// Throws what carillon::tune throws.
[[nodiscard]] PlacementProfile run_tune(Device const& device, TuneOptions const& options);

// Best, median and worst of each kind of place. `near`: the cores that are near the device.
[[nodiscard]] std::string tune_table(PlacementProfile const& profile,
                                     std::vector<unsigned> const& near);
// A line: the best places, and how much shorter calls are there.
[[nodiscard]] std::string tune_summary(PlacementProfile const& profile);
[[nodiscard]] nlohmann::json to_json(PlacementProfile const& profile,
                                     std::vector<unsigned> const& near);

[[nodiscard]] std::unique_ptr<Command> make_tune_command();

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// The C-states and the clock of the cores, as far as the system shows them: they decide how fast a
// core is after it was idle.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace carillon::tool {

// Members for the "environment" of a result: "idle_driver", "governor" and "idle_states", each
// state with its name, in how many cores it is and in how many it is disabled. Facts that the
// kernel's folder `cpus` does not have are empty.
[[nodiscard]] nlohmann::json idle_states(
    std::filesystem::path const& cpus = "/sys/devices/system/cpu");

// These members as one line of text.
[[nodiscard]] std::string describe_idle_states(nlohmann::json const& environment);

}  // namespace carillon::tool

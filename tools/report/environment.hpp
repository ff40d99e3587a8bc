// SPDX-License-Identifier: Apache-2.0
// The facts that accompany every figure, and the file that a result goes to.
#pragma once

#include <carillon/device_info.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace carillon::tool {

// The "environment" object of a result: device, emulated, drivers, CPU, clock, date.
[[nodiscard]] nlohmann::json environment(DeviceInfo const& info);
// The line above every table; it says if the device is emulated, and why.
[[nodiscard]] std::string headline(DeviceInfo const& info);

// An array of to_json() of each result.
template <class Results>
[[nodiscard]] nlohmann::json json_array(Results const& results) {
    nlohmann::json all = nlohmann::json::array();
    for (auto const& each : results) all.push_back(to_json(each));
    return all;
}

// Writes to a file, or to standard output if is_output(path). Throws SystemError.
void write_json(std::string const& path, nlohmann::json const& value);

}  // namespace carillon::tool

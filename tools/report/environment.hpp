// SPDX-License-Identifier: Apache-2.0
// The facts that accompany every figure.
#pragma once

#include <carillon/device_info.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace carillon::tool {

// The "environment" object of a result: device, emulated, drivers, CPU, clock, date.
[[nodiscard]] nlohmann::json environment(DeviceInfo const& info);
// The first line of a report: `measured` on the device; and a second one if the device is emulated
// or its rings are in host memory, with the reason.
[[nodiscard]] std::string headline(std::string_view measured, DeviceInfo const& info);

// An array of to_json() of each result.
template <class Results>
[[nodiscard]] nlohmann::json json_array(Results const& results) {
    nlohmann::json all = nlohmann::json::array();
    for (auto const& each : results) all.push_back(to_json(each));
    return all;
}

}  // namespace carillon::tool

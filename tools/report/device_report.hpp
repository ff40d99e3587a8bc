// SPDX-License-Identifier: Apache-2.0
// All that is known of a device.
#pragma once

#include <carillon/device_info.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace carillon::tool {

[[nodiscard]] nlohmann::json to_json(DeviceInfo const& info);
// The facts as text for people.
[[nodiscard]] std::string describe(DeviceInfo const& info);

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// What is said about the device beside every figure.
#pragma once

#include <carillon/device_info.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace carillon::tool {

// Everything about a device, for `carillon info --json`.
[[nodiscard]] nlohmann::json to_json(DeviceInfo const& info);
// The same for people.
[[nodiscard]] std::string describe(DeviceInfo const& info);

// The "environment" object of a result: device, emulated, drivers, CPU, clock, date.
[[nodiscard]] nlohmann::json environment(DeviceInfo const& info);
// One line above every table; says so if the device is emulated, and why.
[[nodiscard]] std::string headline(DeviceInfo const& info);

// Writes to a file, or to standard output for "-". Throws SystemError.
void write_json(std::string const& path, nlohmann::json const& value);

}  // namespace carillon::tool

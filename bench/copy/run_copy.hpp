// SPDX-License-Identifier: Apache-2.0
// `carillon-bench copy`: our copies between CPU and device memory and their alternatives, in one
// run.
#pragma once

#include <carillon/device.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct CopyResult {
    std::string name;
    std::string direction;  // "to-device" or "to-host"
    std::size_t bytes = 0;
    double p50_ns = 0;
    double gb_per_s = 0;  // 10^9 bytes, at the median
};

struct CopyOptions {
    std::uint32_t rounds = 10;                    // in which the measures take turns
    std::size_t largest = std::size_t{16} << 20;  // bytes; from 64 on, each four times the last
    // Is called with each result, when all copies of its size were measured.
    std::function<void(CopyResult const&)> tell{};
};

// Throws what the library throws.
[[nodiscard]] std::vector<CopyResult> run_copy(Device const& device, CopyOptions const& options,
                                               Progress const& progress);

[[nodiscard]] nlohmann::json to_json(CopyResult const& result);
// A table for people: its title, a row for each copy and size, the main figures in a line.
[[nodiscard]] std::string copy_title();
[[nodiscard]] std::string copy_row(CopyResult const& result);
[[nodiscard]] std::string copy_summary(std::vector<CopyResult> const& results);

[[nodiscard]] std::unique_ptr<Command> make_copy_command();

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// `carillon-bench copy`: our copies between CPU and device memory and their alternatives, in one
// run.
#pragma once

#include <carillon/device.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct CopyOptions {
    std::uint32_t rounds = 10;                    // in which the measures take turns
    std::size_t largest = std::size_t{16} << 20;  // bytes; from 64 on, each four times the last
};

struct CopyResult {
    std::string name;
    std::string direction;  // "to-device" or "to-host"
    std::size_t bytes = 0;
    double p50_ns = 0;
    double gb_per_s = 0;  // 10^9 bytes, at the median
};

// Throws what the library throws.
[[nodiscard]] std::vector<CopyResult> run_copy(Device const& device, CopyOptions const& options,
                                               Progress const& progress);

[[nodiscard]] nlohmann::json to_json(CopyResult const& result);
// For people: one row a copy and size.
[[nodiscard]] std::string copy_table(std::vector<CopyResult> const& results);

[[nodiscard]] std::unique_ptr<Command> make_copy_command();

}  // namespace carillon::tool

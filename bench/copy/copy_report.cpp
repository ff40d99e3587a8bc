// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "copy/run_copy.hpp"

namespace carillon::tool {

nlohmann::json to_json(CopyResult const& result) {
    return {{"name", result.name},
            {"direction", result.direction},
            {"bytes", result.bytes},
            {"p50_ns", result.p50_ns},
            {"gb_per_s", result.gb_per_s}};
}

std::string copy_table(std::vector<CopyResult> const& results) {
    std::string text =
        fmt::format("{:<11}{:<18}{:>10}{:>12}{:>9}\n", "", "", "bytes", "p50 ns", "GB/s");
    for (CopyResult const& each : results) {
        text += fmt::format("{:<11}{:<18}{:>10}{:>12.0f}{:>9.2f}\n", each.direction, each.name,
                            each.bytes, each.p50_ns, each.gb_per_s);
    }
    return text;
}

}  // namespace carillon::tool

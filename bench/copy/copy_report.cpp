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

std::string copy_title() {
    return fmt::format("{:<11}{:<18}{:>10}{:>13}{:>9}\n", "", "", "bytes", "p50 ns", "GB/s");
}

std::string copy_row(CopyResult const& result) {
    return fmt::format("{:<11}{:<18}{:>10}{:>13.0f}{:>9.2f}\n", result.direction, result.name,
                       result.bytes, result.p50_ns, result.gb_per_s);
}

std::string copy_summary(std::vector<CopyResult> const& results) {
    std::string text;
    for (char const* const direction : {"to-device", "to-host"}) {
        CopyResult const* best = nullptr;
        for (CopyResult const& each : results) {
            bool const better = best == nullptr || each.gb_per_s > best->gb_per_s;
            if (each.direction == direction && better) best = &each;
        }
        if (best == nullptr) continue;
        text += fmt::format("{}fastest {}: {}, {} bytes, {:.2f} GB/s", text.empty() ? "" : "; ",
                            direction, best->name, best->bytes, best->gb_per_s);
    }
    return text.empty() ? text : text + '\n';
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Links handlers that are in LTO-IR, by nvJitLink.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::detail {

// Links several parts in LTO-IR into one machine code, by nvJitLink, found at run time: functions
// of one part are inlined into another. `library` is nvJitLink's file, see Nvrtc. Throws
// UnsupportedError if there is none, CompileError for parts that do not fit.
[[nodiscard]] std::string link_parts(std::filesystem::path const& library,
                                     std::string const& architecture,
                                     std::vector<std::string> const& parts);

}  // namespace carillon::detail

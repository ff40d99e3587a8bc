// SPDX-License-Identifier: Apache-2.0
// Links handlers that are in LTO-IR, by nvJitLink.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::detail {

// Makes one machine code of several parts in LTO-IR, by nvJitLink, found at run time: functions of
// one become parts of another's. `library`: its file, as Nvrtc's. Throws UnsupportedError where
// there is none, CompileError for parts that do not fit.
[[nodiscard]] std::string link_parts(std::filesystem::path const& library,
                                     std::string const& architecture,
                                     std::vector<std::string> const& parts);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Every way of the CPU to wait.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "carillon/wait.hpp"

namespace carillon::test {

inline constexpr std::array<WaitStyle, 5> all_wait_styles{
    WaitStyle::spin, WaitStyle::pause, WaitStyle::yield, WaitStyle::tpause, WaitStyle::umwait};

[[nodiscard]] inline std::string wait_style_name(testing::TestParamInfo<WaitStyle> const& info) {
    return std::string(to_string(info.param));
}

// Why a style that is not supported is not.
[[nodiscard]] inline std::string why_not(WaitStyle style) {
    return "this CPU lacks WAITPKG, so no " + std::string(to_string(style));
}

}  // namespace carillon::test

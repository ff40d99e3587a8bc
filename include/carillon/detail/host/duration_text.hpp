// SPDX-License-Identifier: Apache-2.0
// Durations in texts of errors.
#pragma once

#include <chrono>
#include <string>

namespace carillon::detail {

// In the largest unit that fits at least once, with four digits: "5 s", "1.5 ms".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace carillon::detail

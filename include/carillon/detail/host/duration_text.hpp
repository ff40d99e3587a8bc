// SPDX-License-Identifier: Apache-2.0
// Durations as people read them: for the texts of errors.
#pragma once

#include <chrono>
#include <string>

namespace carillon::detail {

// In the largest unit of which there is one, four digits of it: "5 s", "1.5 ms".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The stack of a call that the guard reports.
#pragma once

#include <string>
#include <vector>

namespace carillon::detail {

// Calls of this thread, innermost first, from the caller of CUDA if CUDA is among them.
[[nodiscard]] std::vector<std::string> stack_of_caller();
[[nodiscard]] std::string demangled(char const* name);
}  // namespace carillon::detail

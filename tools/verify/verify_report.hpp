// SPDX-License-Identifier: Apache-2.0
// The report of `carillon verify`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verify/verify.hpp"

namespace carillon::tool {

// Without the "environment" object.
[[nodiscard]] nlohmann::json to_json(VerifyResult const& result);
// For people: one row a test, the evidence of violations, store fences, the mapping.
[[nodiscard]] std::string verify_table(VerifyResult const& result);
// Throws Error if there was a violation.
void require_no_violation(VerifyResult const& result);

}  // namespace carillon::tool

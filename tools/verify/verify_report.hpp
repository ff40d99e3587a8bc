// SPDX-License-Identifier: Apache-2.0
// The report of `carillon verify`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verify/verify.hpp"

namespace carillon::tool {

// Without the "environment" object.
[[nodiscard]] nlohmann::json to_json(VerifyResult const& result);
// For people. The report has these parts one after the other: the table's title; the rows of each
// test, with the evidence of violations; store fences and the mapping; the verdict.
[[nodiscard]] std::string verify_title();
[[nodiscard]] std::string verify_rows(TestReport const& test);
[[nodiscard]] std::string verify_rest(VerifyResult const& result);
[[nodiscard]] std::string verify_verdict(VerifyResult const& result);
// Throws Error if there was a violation.
void require_no_violation(VerifyResult const& result);

}  // namespace carillon::tool

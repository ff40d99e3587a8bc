// SPDX-License-Identifier: Apache-2.0
// The checks of `carillon doctor`. They judge facts that they are given, and read nothing.
#pragma once

#include <string>
#include <vector>

#include "doctor/doctor.hpp"
#include "doctor/facts.hpp"

namespace carillon::tool {

// One subject of the checks.
struct Subject {
    char const* id;
    char const* why;

    [[nodiscard]] Finding ok(std::string found) const {
        return {id, Severity::ok, std::move(found), why, {}};
    }
    [[nodiscard]] Finding at(Severity severity, std::string found, std::string fix) const {
        return {id, severity, std::move(found), why, std::move(fix)};
    }
};

// How bad it is when something is not there that a GPU needs: an error where a GPU was asked for
// or found, a warning where "best" does without.
[[nodiscard]] Severity lacking(Facts const& facts);

// All that concern the device that was asked for.
[[nodiscard]] std::vector<Finding> diagnose(Facts const& facts);

// Declares the checks of the table; they are defined in checks/.
#define CHECK(when, check) [[nodiscard]] Finding check(Facts const& facts);
#include "doctor/checks.def"
#undef CHECK

}  // namespace carillon::tool

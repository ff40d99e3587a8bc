// SPDX-License-Identifier: Apache-2.0
// Runs a scenario on the machine once for each seed.
//   CARILLON_ADVERSARY_SEEDS       how many seeds each test tries (1000)
//   CARILLON_ADVERSARY_FIRST_SEED  the first of them (1)
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "adversary/machine/configuration.hpp"

namespace carillon::test {

// Makes one run on the machine, which was reset; returns the error, or "".
using Scenario = std::function<std::string(Policies const&)>;

// The message says how to replay the first seed that fails and how it went.
testing::AssertionResult holds_for_all_seeds(Configuration const& configuration,
                                             Scenario const& scenario);

// For faults that the adversary must find: `symptom` is in the message of the first seed that
// fails. The seeds never change.
testing::AssertionResult fails_for_some_seed(Configuration const& configuration,
                                             std::string_view symptom, Scenario const& scenario);

inline std::string configuration_name(testing::TestParamInfo<Configuration> const& info) {
    return name_of(info.param);
}
inline void PrintTo(Configuration const& configuration, std::ostream* out) {
    *out << name_of(configuration);
}

}  // namespace carillon::test

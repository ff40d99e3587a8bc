// SPDX-License-Identifier: Apache-2.0
// Runs a scenario again and again, each time in a process of its own and with one call more that
// goes well before one fails, until none fails.
#pragma once

#include <ostream>
#include <vector>

#include "edges/failures/fault_points.hpp"

namespace carillon::test {

struct Scenario {
    char const* name;
    void (*run)();  // throws what the library throws, and std::logic_error for a wrong result
    std::vector<FaultKind> kinds;
    unsigned step = 1;  // of a long one only every so many-th allocation fails
    // The system calls after so many repeat earlier ones. The address sanitizer's build, which is
    // slow, makes only the first so many fail.
    unsigned distinct_calls = ~0U;
};

inline void PrintTo(Scenario const& scenario, std::ostream* to) { *to << scenario.name; }

// Adds failures to the test that runs, for each failed call that does not end as it should.
void expect_each_failure_is_survived(Scenario const& scenario);

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace carillon {

// How a block spends the time in which nothing comes: it polls, and after so many polls in a row it
// sleeps between two, twice as long each time, up to a limit. What waking then costs, and what
// power it saves, `carillon idle` measures.
struct IdlePolicy {
    std::uint32_t polls = 0;             // before the first sleep
    std::uint32_t longest_sleep_ns = 0;  // at most 1 ms; 0: it never sleeps

    static constexpr IdlePolicy spin() { return {}; }
    static constexpr IdlePolicy backoff() { return {64, 1'000}; }
    static constexpr IdlePolicy park() { return {4096, 200'000}; }
    bool operator==(IdlePolicy const&) const = default;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// Waits that end: no test hangs, and none asserts how long something took.
#pragma once

#include <sched.h>

#include <chrono>

#include "carillon/detail/machine/pause.hpp"

namespace carillon::test {

inline constexpr std::chrono::seconds patience{30};

// Polls until `poll()` is true, and returns true; or returns false after `patience`.
template <class Poll>
[[nodiscard]] bool eventually(Poll&& poll) {
    for (int i = 0; i < 200; ++i) {
        if (poll()) return true;
        cpu::pause_or_yield(0, false);
    }
    auto const deadline = std::chrono::steady_clock::now() + patience;
    while (!poll()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        sched_yield();
    }
    return true;
}

}  // namespace carillon::test

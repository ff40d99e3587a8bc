// SPDX-License-Identifier: Apache-2.0
// Waits that end: no test hangs, and none asserts how long something took.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "carillon/detail/machine/pause.hpp"

namespace carillon::test {

inline constexpr std::chrono::seconds patience{30};

// Polls until `poll()` is true, and returns true; or returns false after `patience`.
template <class Poll>
[[nodiscard]] bool eventually(Poll&& poll) {
    for (int i = 0; i < 200; ++i) {
        if (poll()) return true;
        detail::cpu::pause_or_yield(0, false);
    }
    // A thread that yields again and again can keep the kernel from ending a process.
    constexpr std::chrono::milliseconds between_polls{1};
    auto const start = std::chrono::steady_clock::now();
    while (!poll()) {
        auto const waited = std::chrono::steady_clock::now() - start;
        if (waited > patience) return false;
        if (waited < 20 * between_polls) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(between_polls);
        }
    }
    return true;
}

}  // namespace carillon::test

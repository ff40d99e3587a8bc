// SPDX-License-Identifier: Apache-2.0
// How a thread spends the time before a call, and how it then finds its caches.
#pragma once

#include <chrono>
#include <cstdint>

#include "measure/interrupt.hpp"

namespace carillon::tool {

enum class Pause : std::uint8_t {
    sleep,  // in the kernel: the core may do other things, or nothing
    spin,   // over the clock: the core stays awake, its caches are its own
    warm,   // with Client::warm() all the while
};

// Spends `duration`, or less when an interrupt comes; Pause::warm calls `keep_warm()` meanwhile.
template <class KeepWarm>
void spend(Pause pause, std::chrono::nanoseconds duration, KeepWarm&& keep_warm) {
    auto const end = std::chrono::steady_clock::now() + duration;
    if (pause == Pause::sleep) return sleep_until(end);
    while (time_is_left(end)) {
        if (pause == Pause::warm) keep_warm();
    }
}

}  // namespace carillon::tool

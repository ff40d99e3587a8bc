// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during a measurement: the measurement ends after its present piece, and the report has
// everything that was measured until then.
#pragma once

#include <atomic>
#include <chrono>

namespace carillon::tool {

namespace detail_of_interrupt {
inline std::atomic<bool> seen{false};
}

// From now on the first SIGINT makes interrupted() true, and a second one ends the process. Call it
// before other threads start, since they inherit that they do not get the signal. Has no effect if
// the process was started with SIGINT ignored, as by `nohup`.
void end_at_interrupt();

[[nodiscard]] inline bool interrupted() {
    return detail_of_interrupt::seen.load(std::memory_order_relaxed);
}

// interrupted() when the measurement ended: at the first call of this.
[[nodiscard]] bool ended_early();

// Whether a loop that runs until `deadline` shall go on.
[[nodiscard]] inline bool time_is_left(std::chrono::steady_clock::time_point deadline) {
    return std::chrono::steady_clock::now() < deadline && !interrupted();
}

// Sleeps until `deadline`, or until an interrupt.
void sleep_until(std::chrono::steady_clock::time_point deadline);

}  // namespace carillon::tool

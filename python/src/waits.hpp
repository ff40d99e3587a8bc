// SPDX-License-Identifier: Apache-2.0
// Waits of Python's: bounded, without the GIL, and Ctrl-C ends them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/error.hpp"
#include "gil.hpp"

namespace carillon::python {

// Ctrl-C may have to wait so long.
inline constexpr std::chrono::nanoseconds longest_part = std::chrono::milliseconds(50);

// Seconds that are 0 or more (given.hpp). More than a year is a year.
[[nodiscard]] inline std::chrono::nanoseconds duration(double seconds) {
    constexpr double year = 366.0 * 24 * 3600;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, year) * 1e9));
}

// Throws what a signal's handler in Python has raised, such as KeyboardInterrupt.
inline void raise_signals() {
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// Calls `wait(part)` with parts of `timeout` until it ends otherwise than by a TimeoutError, or the
// time is over; `between()` between two of them, with the GIL. `given`: the caller's timeout, of
// which `timeout` is what is left.
template <class Wait, class Between>
void wait_in_parts(std::chrono::nanoseconds timeout, std::chrono::nanoseconds given,
                   Wait const& wait, Between const& between) {
    detail::Deadline const deadline(timeout);
    for (;;) {
        auto const left = std::max(deadline.left(), std::chrono::nanoseconds(0));
        try {
            OthersRun const others_run;
            return wait(std::min(left, longest_part));
        } catch (TimeoutError const& error) {
            if (left <= longest_part) throw error.of_whole(given);
        }
        raise_signals();
        between();
    }
}
template <class Wait>
void wait_in_parts(std::chrono::nanoseconds timeout, Wait const& wait) {
    wait_in_parts(timeout, timeout, wait, [] {});
}

}  // namespace carillon::python

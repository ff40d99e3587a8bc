// SPDX-License-Identifier: Apache-2.0
// Waits of Python's: bounded, without the GIL, and Ctrl-C ends them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <regex>
#include <string>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/duration_text.hpp"
#include "carillon/error.hpp"
#include "gil.hpp"

namespace carillon::python {

// So long Ctrl-C may have to wait.
inline constexpr std::chrono::nanoseconds longest_part = std::chrono::milliseconds(50);

// `seconds` as Python has them. Throws UsageError, in the name of `call`, for what is below 0 or no
// number. More than a year is a year.
[[nodiscard]] inline std::chrono::nanoseconds duration(char const* call, double seconds) {
    if (!(seconds >= 0)) throw UsageError(call, "a timeout is 0 seconds or more");
    constexpr double year = 366.0 * 24 * 3600;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, year) * 1e9));
}

// Throws what a signal's handler in Python has raised, as KeyboardInterrupt.
inline void raise_signals() {
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// The text of an error without its call.
[[nodiscard]] inline std::string cause_of(Error const& error) {
    std::string const text = error.what();
    return text.substr(std::min(text.size(), error.call().size() + 2));
}

// The error of a wait whose last part is over, with the time that was given in place of the part's.
[[nodiscard]] inline TimeoutError over(TimeoutError const& of_part,
                                       std::chrono::nanoseconds timeout) {
    static std::regex const duration(R"(\b[0-9][-+.e0-9]* (ns|us|ms|s)\b)");
    std::string const cause =
        std::regex_replace(cause_of(of_part), duration, detail::duration_text(timeout),
                           std::regex_constants::format_first_only);
    return {of_part.call(), cause, of_part.sent()};
}

// Calls `wait(part)` with parts of `timeout` until it ends otherwise than by a TimeoutError, or the
// time is over.
template <class Wait>
void wait_in_parts(std::chrono::nanoseconds timeout, Wait const& wait) {
    Deadline const deadline(timeout);
    for (;;) {
        auto const left = std::max(deadline.left(), std::chrono::nanoseconds(0));
        try {
            OthersRun const others_run;
            return wait(std::min(left, longest_part));
        } catch (TimeoutError const& error) {
            if (left <= longest_part) throw over(error, timeout);
        }
        raise_signals();
    }
}

}  // namespace carillon::python

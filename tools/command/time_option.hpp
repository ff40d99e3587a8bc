// SPDX-License-Identifier: Apache-2.0
// Options whose value is a time. All commands spell times alike: a number with a unit, or a number
// of seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace carillon::tool {

// Adds the option `name`, which sets `value` to a time from `least` to `most`. The value that
// `value` has now is the default that --help shows.
CLI::Option* add_time(CLI::App& command_line, std::string const& name,
                      std::chrono::nanoseconds& value, std::chrono::nanoseconds least,
                      std::chrono::nanoseconds most, std::string const& what);

// The time of a count of seconds.
[[nodiscard]] inline std::chrono::nanoseconds time_of(double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
}

// A time as the option takes it: 50us, 3ms, 10s.
[[nodiscard]] std::string time_text(std::chrono::nanoseconds time);

}  // namespace carillon::tool

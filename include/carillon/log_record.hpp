// SPDX-License-Identifier: Apache-2.0
// A log message with its text formatted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// How much a message matters: an argument of the call, log<"text", LogLevel::error>(to).
enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] std::string_view to_string(LogLevel level);  // its name, such as "error"

// A message, for a sink.
struct LogRecord {
    std::uint64_t time_ns;  // of the device's clock (DeviceClock::now_ns)
    unsigned block;         // its number in its launch
    LogLevel level;
    std::string text;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// What a log message is when its text has been put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/detail/wire/language.hpp"
#include "carillon/error.hpp"

namespace carillon {

// How much a message matters: a part of the call, log<"text", LogLevel::error>(to).
enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] std::string_view to_string(LogLevel level);  // its name, as "error"

// A message as a sink gets it.
struct LogRecord {
    std::uint64_t time_ns;  // of the device's clock (DeviceClock::now_ns)
    unsigned block;         // its number in its launch
    LogLevel level;
    std::string text;
};

}  // namespace carillon

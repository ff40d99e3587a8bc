// SPDX-License-Identifier: Apache-2.0
// `LogRecord`: a formatted log message, for sinks (log.hpp) and readers (connection.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// The importance of a message: an argument of the call, log<"text", LogLevel::error>(to).
enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] std::string_view to_string(LogLevel level);  // its name, such as "error"

// A formatted message.
struct LogRecord {
    std::uint64_t time_ns;  // the time by the device's clock (DeviceClock::now_ns)
    unsigned block;         // the block's number in its launch
    LogLevel level;
    std::string text;
};

}  // namespace carillon

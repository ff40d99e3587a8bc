// SPDX-License-Identifier: Apache-2.0
// Durations in texts of errors, and errors of calls that timed out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// In the largest unit that fits at least once, with four digits: "5 s", "1.5 ms".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

// The place that had no room for a request.
enum class NoRoom : std::uint8_t { channel, client, pool };

// Throw the errors of calls that timed out. `size` is the capacity of the place without room.
// `untaken` is the request whose reply occupies the next one's slot, if that is why; else 0.
[[noreturn]] void throw_not_sent(NoRoom where, std::uint32_t size, std::uint64_t untaken = 0);
[[noreturn]] void throw_no_reply();
// For calls with several messages: how many were done, of all.
[[noreturn]] void throw_not_all_sent(std::size_t sent, std::size_t all, std::uint32_t size,
                                     std::uint64_t untaken);
[[noreturn]] void throw_not_all_taken(std::size_t taken, std::size_t all);
// Throws UsageError.
[[noreturn]] void throw_no_room_for_replies(std::size_t room, std::size_t all);

}  // namespace carillon::detail

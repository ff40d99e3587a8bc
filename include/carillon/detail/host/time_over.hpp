// SPDX-License-Identifier: Apache-2.0
// Errors of calls whose time is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// What had no room for a request.
enum class NoRoom : std::uint8_t { channel, client, pool };

// What a call says whose time is over. `size`: how many find room in what had none. `untaken`: the
// request whose reply is at the next one's place, if that is why; 0: it is not.
[[noreturn]] void throw_not_sent(NoRoom where, std::uint32_t size, std::uint64_t untaken = 0);
[[noreturn]] void throw_no_reply();
// The same for calls of many: how many were done, of all.
[[noreturn]] void throw_not_all_sent(std::size_t sent, std::size_t all, std::uint32_t size,
                                     std::uint64_t untaken);
[[noreturn]] void throw_not_all_taken(std::size_t taken, std::size_t all);
// Throws UsageError.
[[noreturn]] void throw_no_room_for_replies(std::size_t room, std::size_t all);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace carillon::detail {

// What had no room for a request.
enum class NoRoom : std::uint8_t { channel, client, pool };

// What a call says whose time is over. `size`: how many find room in what had none.
[[noreturn]] void throw_not_sent(std::string_view call, NoRoom where, std::uint32_t size);
[[noreturn]] void throw_no_reply(std::string_view call);

}  // namespace carillon::detail

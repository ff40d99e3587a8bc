// SPDX-License-Identifier: Apache-2.0
#include "carillon/client.hpp"

#include <fmt/format.h>

#include "carillon/detail/host/message_types.hpp"

namespace carillon::detail {
void throw_status(std::uint32_t status, std::uint32_t code, char const* command) {
    if (status == static_cast<std::uint32_t>(ReplyStatus::refused)) {
        throw HandlerError(type_name(command), code);
    }
    throw UsageError(
        fmt::format("the kernel knows no command with the opcode of {}", type_name(command)));
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bytes/bytes_channel.hpp"
#include "carillon/error.hpp"
#include "error/range.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

void require_bytes(std::string_view call, std::string_view what, std::size_t bytes,
                   std::size_t least, std::size_t most) {
    if (bytes >= least && bytes <= most) return;
    throw UsageError(call,
                     fmt::format("a {} of {} bytes, which are {} to {}", what, bytes, least, most));
}

ByteShape checked_shape(std::string_view call, std::string_view what, std::size_t bytes) {
    require_bytes(call, what, bytes, 1, message_bytes);
    return {bytes};
}

MessageType type_of_bytes(std::string_view call, std::string_view what, BytesType const& type,
                          std::uint32_t slot_lines) {
    require_printable(call, what, type.name);
    return {type.bytes, 1,          0,
            0,          slot_lines, sent_name(type.name.empty() ? name_of_bytes : type.name)};
}

MessageType message_type(std::string_view call, std::string_view what, BytesType const& type) {
    return type_of_bytes(call, what, type, checked_shape(call, what, type.bytes).slot_lines());
}

void require_one(std::string_view call, std::string_view what, std::span<std::byte const> bytes,
                 ByteShape shape) {
    require_bytes_there(call, bytes);
    if (bytes.size() == shape.bytes) [[likely]]
        return;
    throw UsageError(call, fmt::format("a {} of {} bytes, the other side's is of {}", what,
                                       bytes.size(), shape.bytes));
}

std::size_t require_whole(std::string_view call, std::string_view what,
                          std::span<std::byte const> bytes, ByteShape shape) {
    require_bytes_there(call, bytes);
    if (bytes.size() % shape.bytes == 0) [[likely]]
        return bytes.size() / shape.bytes;
    throw UsageError(call, fmt::format("{} bytes, which are no whole number of {}s of {} bytes",
                                       bytes.size(), what, shape.bytes));
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bytes/bytes_channel.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

ByteShape checked_shape(std::string_view call, std::string_view what, std::size_t bytes) {
    if (bytes >= 1 && bytes <= message_bytes) return {bytes};
    throw UsageError(
        call, fmt::format("a {} of {} bytes, which are 1 to {}", what, bytes, message_bytes));
}

MessageType message_type(std::string_view call, std::string_view what, BytesType const& type) {
    ByteShape const shape = checked_shape(call, what, type.bytes);
    return {type.bytes,
            1,
            0,
            0,
            shape.slot_lines(),
            type.name.empty() ? std::string(name_of_bytes) : type.name};
}

void require_one(std::string_view call, std::string_view what, std::size_t bytes, ByteShape shape) {
    if (bytes == shape.bytes) [[likely]]
        return;
    throw UsageError(
        call, fmt::format("a {} of {} bytes, the other side's is of {}", what, bytes, shape.bytes));
}

std::size_t require_whole(std::string_view call, std::string_view what, std::size_t bytes,
                          ByteShape shape) {
    if (bytes % shape.bytes == 0) [[likely]]
        return bytes / shape.bytes;
    throw UsageError(call, fmt::format("{} bytes, which are no whole number of {}s of {} bytes",
                                       bytes, what, shape.bytes));
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include "carillon/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

ByteShape MessageOf<Bytes>::checked(char const* what, std::size_t bytes, std::size_t least,
                                    std::size_t most) {
    if (bytes >= least && bytes <= most) return {bytes};
    throw UsageError(
        fmt::format("a {} of {} bytes is not possible: it has {} to {}", what, bytes, least, most));
}
bool MessageOf<Bytes>::is_gpu(Device const* device) {
    return device != nullptr && !device->emulated();
}

MessageType described(MessageOf<Bytes> const& message, BytesType const& type,
                      std::uint32_t slot_lines) {
    require_printable(message.what(), type.name);
    return {std::max(type.bytes, 1U),
            1,
            0,
            0,
            slot_lines,
            sent_name(type.name.empty() ? name_of_bytes : type.name)};
}

MessageOf<Bytes> const& MessageOf<Bytes>::emulated() const {
    if (!on_gpu_) return *this;
    throw UnsupportedError("the device is a GPU: its kernels are in C++ and have types");
}

void MessageOf<Bytes>::require_one(std::span<std::byte const> message) const {
    require_bytes_there(message);
    if (message.size() == shape_.bytes) [[likely]]
        return;
    throw UsageError(fmt::format("a {} of {} bytes was given, but the other side's has {}", what_,
                                 message.size(), shape_.bytes));
}

void MessageOf<Bytes>::require(std::span<std::byte const> row) const {
    require_bytes_there(row);
    if (row.size() % shape_.bytes == 0) [[likely]]
        return;
    throw UsageError(fmt::format("{} bytes are not a whole number of {}s of {} bytes", row.size(),
                                 what_, shape_.bytes));
}

}  // namespace carillon::detail

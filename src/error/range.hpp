// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace carillon::detail {

// Throws UsageError, in the name of `call`, unless [offset, offset + size) lies within `limit`
// bytes.
void require_range(std::string_view call, std::size_t offset, std::size_t size, std::size_t limit);

[[noreturn]] void throw_null_bytes(std::string_view call, std::size_t size);

// Throws UsageError, in the name of `call`, for bytes at a null pointer, unless there are none.
inline void require_bytes_there(std::string_view call, std::span<std::byte const> bytes) {
    if (bytes.data() == nullptr && !bytes.empty()) [[unlikely]]
        throw_null_bytes(call, bytes.size());
}

}  // namespace carillon::detail

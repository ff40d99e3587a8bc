// SPDX-License-Identifier: Apache-2.0
// Checks of a caller's offsets, sizes and pointers.
#pragma once

#include <cstddef>
#include <span>

namespace carillon::detail {

// Throws UsageError unless [offset, offset + size) lies within `limit` bytes.
void require_range(std::size_t offset, std::size_t size, std::size_t limit);

[[noreturn]] void throw_null_bytes(std::size_t size);

// Throws UsageError for bytes at a null pointer, unless there are none.
inline void require_bytes_there(std::span<std::byte const> bytes) {
    if (bytes.data() == nullptr && !bytes.empty()) [[unlikely]]
        throw_null_bytes(bytes.size());
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include "error/range.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"

namespace carillon::detail {

void require_range(std::size_t offset, std::size_t size, std::size_t limit) {
    if (offset > limit || size > limit - offset) {
        throw UsageError(
            fmt::format("{} bytes from byte {} on, of a memory of {} bytes", size, offset, limit));
    }
}

void throw_null_bytes(std::size_t size) {
    throw UsageError(fmt::format("{} bytes at a null pointer", size));
}

}  // namespace carillon::detail

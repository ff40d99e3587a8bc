// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace carillon::detail {

// Throws UsageError, in the name of `call`, unless [offset, offset + size) lies within `limit`
// bytes.
void require_range(std::string_view call, std::size_t offset, std::size_t size, std::size_t limit);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace carillon::detail {

// Throws UnsupportedError unless aligned 16-byte loads are single accesses on this CPU (AVX).
void require_single_copy_16_bytes(std::string_view call);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace carillon::detail {

// Copies from wherever it lies to ordinary memory by streaming loads: as it was when the call
// began, or newer.
void stream_load(std::byte* to, std::byte const* from, std::size_t size);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// What the library needs of the CPU, and where its own threads may run.
#pragma once

#include <string>

namespace carillon::detail {

// Throws UnsupportedError unless aligned 16-byte loads are single accesses on this CPU (AVX).
void require_single_copy_16_bytes();

// For a thread of the library's own, which inherits the cores of whoever started it: if that one
// was pinned to one core since the process began, leaves it that one and takes the process's
// others.
void leave_pinned_cores() noexcept;

}  // namespace carillon::detail

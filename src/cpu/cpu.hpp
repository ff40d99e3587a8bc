// SPDX-License-Identifier: Apache-2.0
// The library's requirements for the CPU, and the cores of its own threads.
#pragma once

namespace carillon::detail {

// Throws UnsupportedError unless aligned 16-byte loads are single accesses on this CPU (AVX).
void require_single_copy_16_bytes();

// For a thread of the library, which inherits the cores of the thread that started it. If that one
// was pinned to one core since the process began, this one leaves that core and takes the process's
// others.
void leave_pinned_cores() noexcept;

}  // namespace carillon::detail

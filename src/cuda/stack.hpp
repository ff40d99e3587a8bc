// SPDX-License-Identifier: Apache-2.0
// The stack of a GPU's threads. CUDA takes memory for as many threads as can be resident. It takes
// more by itself when a kernel needs more, and waits for every kernel of the context before.
#pragma once

#include <cstddef>

#include "carillon/device_info.hpp"
#include "cuda/context.hpp"

namespace carillon::detail {

// How many bytes of stack each thread of a kernel uses. Throws CudaError.
[[nodiscard]] std::size_t stack_of(CUfunction function);

// What `context`, which is current, has of it; `needed` is the caller's. Throws CudaError.
[[nodiscard]] StackUse stack_of(CudaContext const& context, std::size_t needed);

// Gives each thread `wanted` bytes, or `least` where there is no memory for so many; what they have
// stays if it is more. A line on stderr says before how much memory that takes. In the current
// context, in which no kernel lives. Throws OutOfMemoryError, CudaError.
void reserve_stack(CudaContext const& context, std::size_t wanted, std::size_t least);

// Throws UsageError where a kernel that needs `needed` bytes would make CUDA take more memory.
void require_stack(CudaContext const& context, std::size_t needed);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The stack of a GPU's threads. CUDA takes memory for as many threads as can be resident. If a
// kernel needs more, CUDA enlarges it, and waits for every kernel of the context first.
#pragma once

#include <cstddef>

#include "carillon/device_info.hpp"
#include "cuda/context.hpp"

namespace carillon::detail {

// The stack bytes of each thread of a kernel. Throws CudaError.
[[nodiscard]] std::size_t stack_of(CUfunction function);

// The stack use in `context`, which is current; the caller gives `needed`. Throws CudaError.
[[nodiscard]] StackUse stack_of(CudaContext const& context, std::size_t needed);

// Gives each thread `wanted` bytes, or `least` if there is no memory for that; a larger stack
// stays. Before that a line on stderr says how much memory it takes. Works in the current context,
// in which no kernel lives. Throws OutOfMemoryError, CudaError.
void reserve_stack(CudaContext const& context, std::size_t wanted, std::size_t least);

// Throws UsageError if a kernel that needs `needed` bytes would make CUDA take more memory.
void require_stack(CudaContext const& context, std::size_t needed);

}  // namespace carillon::detail

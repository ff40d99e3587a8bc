// SPDX-License-Identifier: Apache-2.0
// Modules of machine code, loaded as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cuda/context.hpp"
#include "device/backend.hpp"
#include "device/loaded_code.hpp"

namespace carillon::detail {

// Loads every kernel of a module in the current context: the first launch of an unloaded kernel
// would wait for a persistent kernel to end. Returns the stack bytes of the largest kernel, 0 if
// the driver cannot tell. Throws CudaError.
std::size_t load_whole_module(CUmodule module);

// Loads a module, and gives the GPU's threads as much stack as its kernels use. Throws UsageError
// while a kernel lives on the device, OutOfMemoryError, CudaError.
[[nodiscard]] std::shared_ptr<LoadedCode> load_module(std::shared_ptr<Backend> backend,
                                                      std::shared_ptr<CudaContext> const& context,
                                                      std::span<std::byte const> image);

}  // namespace carillon::detail

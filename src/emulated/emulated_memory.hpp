// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "device/allocation.hpp"

namespace carillon::detail {

// Registers memory of the caller until the allocation goes. The emulated device's threads use the
// caller's addresses. The list records the registered bytes, since CUDA registers none twice.
// Throws UsageError if some of them are registered already.
[[nodiscard]] std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes);

// Shared memory of `size` bytes, zeroed, mapped once for the host and once for the device, like on
// a GPU: so an address used on the wrong side is found. Throws OutOfMemoryError, SystemError.
[[nodiscard]] std::unique_ptr<Allocation> allocate_memfd(std::size_t size);

}  // namespace carillon::detail

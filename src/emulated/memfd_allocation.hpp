// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device.
#pragma once

#include <memory>

#include "device/allocation.hpp"

namespace carillon::detail {

// Shared memory of `size` bytes, zeroed, mapped once for the host and once for the device, like on
// a GPU: so an address used on the wrong side is found. Throws OutOfMemoryError, SystemError.
[[nodiscard]] std::unique_ptr<Allocation> allocate_memfd(std::size_t size);

}  // namespace carillon::detail

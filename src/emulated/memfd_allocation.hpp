// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device.
#pragma once

#include <memory>

#include "device/allocation.hpp"

namespace carillon::detail {

// Shared memory of `size` bytes, zeroed, mapped once for the host and once for the device, as on
// a GPU: an address used on the wrong side stands out. `call` names the caller in errors.
// Throws OutOfMemoryError, SystemError.
[[nodiscard]] std::unique_ptr<Allocation> allocate_memfd(std::size_t size);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Whether a device has room for an allocation.
#pragma once

#include <cstddef>

#include "carillon/device_info.hpp"

namespace carillon::detail {

// Throws OutOfMemoryError if `size` bytes exceed the heap of Device::allocate, its budget or the
// BAR.
void require_budget(DeviceInfo const& info, std::size_t size);

}  // namespace carillon::detail

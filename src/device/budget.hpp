// SPDX-License-Identifier: Apache-2.0
// Whether a device has room for an allocation.
#pragma once

#include <cstddef>

#include "carillon/device_info.hpp"

namespace carillon::detail {

// Throws OutOfMemoryError when `size` bytes cannot be had of the heap that
// Device::allocate uses: they exceed it, its budget or the BAR.
void require_budget(DeviceInfo const& info, std::size_t size);

}  // namespace carillon::detail

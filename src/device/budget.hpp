// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "carillon/device_info.hpp"

namespace carillon::detail {

// Throws OutOfMemoryError, in the name of `call`, when `size` bytes cannot be had of the heap that
// Device::allocate uses: they exceed it, its budget or the BAR.
void require_budget(char const* call, DeviceInfo const& info, std::size_t size);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The caller's memory, registered with the emulated device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "device/allocation.hpp"

namespace carillon::detail {

// Memory of the caller's that is registered, until the allocation goes. The emulated device's
// threads address it as the caller does; what is kept is which bytes of the process these are,
// since CUDA registers none twice. Throws UsageError where some of them are already.
[[nodiscard]] std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes);

}  // namespace carillon::detail

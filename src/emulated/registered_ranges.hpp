// SPDX-License-Identifier: Apache-2.0
// The caller's memory, registered with the emulated device.
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

}  // namespace carillon::detail

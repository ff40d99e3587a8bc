// SPDX-License-Identifier: Apache-2.0
// The emulated device, as src/devices opens it.
#pragma once

#include <memory>

#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// Blocks of the emulated device that may live at once. It stands for what a GPU's occupancy sets;
// the number is our choice: enough for tests of many blocks, few enough threads for a laptop.
inline constexpr unsigned emulated_resident_blocks = 64;

// Memory from a memfd, or from Vulkan's CPU driver.
enum class EmulatedMemory : bool { memfd, vulkan };

// Throws UnsupportedError, VulkanError.
[[nodiscard]] std::shared_ptr<Backend> open_emulated(EmulatedMemory memory,
                                                     DeviceOptions const& options);

}  // namespace carillon::detail

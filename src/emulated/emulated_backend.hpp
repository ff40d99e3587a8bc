// SPDX-License-Identifier: Apache-2.0
// Opens the emulated device, for src/devices.
#pragma once

#include <memory>

#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// The most blocks of the emulated device that live at once, in place of a GPU's occupancy. Our
// choice: enough for tests of many blocks, few enough threads for a laptop.
inline constexpr unsigned emulated_resident_blocks = 64;

// Memory from a memfd, or from Vulkan's CPU driver.
enum class EmulatedMemory : bool { memfd, vulkan };

// Throws UnsupportedError, VulkanError.
[[nodiscard]] std::shared_ptr<Backend> open_emulated(EmulatedMemory memory,
                                                     DeviceOptions const& options);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend.hpp"
#include "cuda/context.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// GPU memory from Vulkan, mapped into the CPU and imported into CUDA.
[[nodiscard]] std::unique_ptr<Allocation> allocate_mapped(std::shared_ptr<CudaContext> context,
                                                          VulkanDevice const& vulkan,
                                                          std::size_t size, DeviceInfo const& info);

// Page-locked host memory.
[[nodiscard]] std::unique_ptr<Allocation> allocate_page_locked(std::shared_ptr<CudaContext> context,
                                                               std::size_t size);

}  // namespace carillon::detail

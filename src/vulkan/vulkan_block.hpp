// SPDX-License-Identifier: Apache-2.0
// A block of Vulkan's memory: allocated or imported, and mapped.
#pragma once

#include <cstddef>
#include <memory>

#include "vulkan/vulkan_call.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// The parts of its device that a block needs.
struct VulkanContext {
    std::shared_ptr<VulkanDevice const> owner;
    vk::raii::Device const* device = nullptr;
    std::uint32_t memory_type = 0;
    std::size_t atom = 1;
};

// Allocates (import_fd empty) or imports, and maps. The memory is bound to no buffer: an NVIDIA
// driver keeps exportable buffers out of the device-local mappable memory type, but the memory
// itself can be exported.
[[nodiscard]] std::unique_ptr<VulkanBlock> make_vulkan_block(VulkanContext context,
                                                             std::size_t size,
                                                             FileDescriptor import_fd);

}  // namespace carillon::detail

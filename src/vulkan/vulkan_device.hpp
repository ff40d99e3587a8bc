// SPDX-License-Identifier: Apache-2.0
// Memory from Vulkan: allocated, mapped into the CPU and exported as an opaque file descriptor.
// One code serves a GPU and Mesa's CPU driver. Vulkan is found at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "carillon/device.hpp"
#include "carillon/device_info.hpp"
#include "carillon/memory.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

using Uuid = std::array<std::uint8_t, 16>;

// Memory from Vulkan, mapped. It keeps its device open. Its user sets the device's address, and
// zeroes the memory.
class VulkanBlock : public Allocation {
   public:
    std::size_t allocated = 0;       // bytes of the Vulkan allocation: `size` in whole atoms
    std::shared_ptr<void> imported;  // what its descriptor was imported into: freed before it
};

class VulkanDevice {
   public:
    virtual ~VulkanDevice() = default;

    // The Vulkan device with this UUID, or by default the first that is a CPU. Throws
    // UnsupportedError: no loader, no driver (ICD), no such device, no fd export, no suitable
    // memory; VulkanError.
    [[nodiscard]] static std::shared_ptr<VulkanDevice> open(std::optional<Uuid> const& uuid,
                                                            DeviceOptions const& options);

    // Fills in what Vulkan knows: memory types, heaps, coherence, driver versions.
    virtual void describe(DeviceInfo& info) const = 0;
    // Not zeroed. Throws OutOfMemoryError when the heap is too small, VulkanError.
    [[nodiscard]] virtual std::unique_ptr<VulkanBlock> allocate(std::size_t size) const = 0;
    // Maps memory that `fd` exports; `size` is that of the exported allocation.
    [[nodiscard]] virtual std::unique_ptr<VulkanBlock> import(FileDescriptor fd,
                                                              std::size_t size) const = 0;
};

}  // namespace carillon::detail

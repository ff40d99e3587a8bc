// SPDX-License-Identifier: Apache-2.0
// Memory that Vulkan has allocated and mapped.
#pragma once

#include <memory>
#include <utility>

#include "device/backend.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// Device memory in a mapped Vulkan block. The derived class sets the device's address, and zeroes
// the memory when it can.
class VulkanAllocation : public Allocation {
   public:
    VulkanAllocation(std::unique_ptr<VulkanBlock> block, std::size_t bytes, DeviceInfo const& info)
        : block_(std::move(block)) {
        host = block_->mapped();
        size = bytes;
        coherent = info.coherent;
        atom_size = info.atom_size;
    }

    void flush(void const* where, std::size_t length) const override {
        block_->flush(where, length);
    }
    void invalidate(void const* where, std::size_t length) const override {
        block_->invalidate(where, length);
    }
    [[nodiscard]] FileDescriptor export_fd() const override { return block_->export_fd(); }

   protected:
    [[nodiscard]] VulkanBlock const& block() const { return *block_; }

   private:
    std::unique_ptr<VulkanBlock> block_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Memory from Vulkan: allocated, mapped into the CPU and exported as an opaque file descriptor.
// The same code serves a GPU and Mesa's CPU driver. Vulkan is found at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "carillon/device.hpp"
#include "carillon/device_info.hpp"
#include "carillon/memory.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

using Uuid = std::array<std::uint8_t, 16>;

// One block of Vulkan memory, mapped. Keeps its device open.
class VulkanBlock {
   public:
    virtual ~VulkanBlock() = default;
    [[nodiscard]] virtual void* mapped() const = 0;
    // Bytes of the Vulkan allocation: the size asked for, in whole atoms.
    [[nodiscard]] virtual std::size_t allocated() const = 0;
    [[nodiscard]] virtual FileDescriptor export_fd() const = 0;
    // For whole atoms of the range; throws VulkanError.
    virtual void flush(void const* where, std::size_t size) const = 0;
    virtual void invalidate(void const* where, std::size_t size) const = 0;
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

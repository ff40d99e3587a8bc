// SPDX-License-Identifier: Apache-2.0
// Maps memory that another process has made and exported, without CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/device_info.hpp"
#include "carillon/memory.hpp"
#include "device/allocation.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// The UUID in "GPU-" and 32 digits with hyphens; none for anything else.
[[nodiscard]] std::optional<Uuid> uuid_of(std::string_view text);
[[nodiscard]] inline std::optional<Uuid> uuid_of(DeviceInfo const& info) {
    return uuid_of(info.uuid);
}

// The memory of a descriptor that the other side's Memory::export_fd gave. Forked children do not
// have it: there host_ptr() throws ForkError. If the process opens a Vulkan device for it, that
// stays open for good (VulkanDevice::open).
class ForeignMemory {
   public:
    // `size` is Memory::size() on the other side. `source` is the descriptor's kind: `memfd` and
    // `host` are sealed shared memory (Device::allocate_shared_host); `vulkan` is memory of the GPU
    // with this UUID, or of Vulkan's CPU driver without one. With `access` for reading alone there
    // is only shared memory. Throws UsageError for a descriptor of another kind or size, as far as
    // that can be known, UnsupportedError for memory of any other source; what VulkanDevice::open
    // and import throw; SystemError.
    ForeignMemory(FileDescriptor fd, std::size_t size, MemorySource source,
                  std::optional<Uuid> const& uuid, MapAccess access = MapAccess::read_write);

    // A moved-from object gives null and 0.
    [[nodiscard]] void* host_ptr() const;
    [[nodiscard]] std::size_t size() const { return memory_ ? memory_->size : 0; }
    // For access policies: nullptr on coherent memory.
    [[nodiscard]] RangeSync const* range_sync() const;

   private:
    struct LetGo {  // nothing in a child
        ProcessMark mark;
        void operator()(Allocation* memory) const noexcept;
    };

    std::unique_ptr<Allocation, LetGo> memory_;
};

}  // namespace carillon::detail

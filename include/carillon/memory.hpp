// SPDX-License-Identifier: Apache-2.0
// `Memory`: memory that the CPU and the device share. `Device` allocates it.
#pragma once

#include <cstddef>
#include <memory>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/error.hpp"
#include "carillon/file_descriptor.hpp"

namespace carillon {

using detail::OutOfLine;
using detail::RangeSync;
namespace detail {
class Allocation;
class Backend;
class Lender;
}  // namespace detail

class CARILLON_LAYOUT Device;

// Memory that both the CPU and the device address: device memory mapped into the CPU
// (Device::allocate) or pinned host memory (Device::allocate_host, allocate_shared_host), both
// zeroed when new; or pinned memory of the caller (Device::register_host), which keeps its
// content.
//
// The destructor frees or unregisters the memory, unless a kernel lives on the device: the CUDA
// driver would block until the kernel's end. In that case the memory is freed at the next
// allocation or free after the last kernel's end.
class Memory {
   public:
    Memory() noexcept;  // none
    Memory(Memory&&) noexcept;
    Memory& operator=(Memory&&) noexcept;
    ~Memory();

    // The CPU's address. Device memory is usually write-combining: write whole lines, then flush().
    // Never read it on a fast path: each load is a bus round trip.
    [[nodiscard]] void* host_ptr() const;
    // The device's address, to be passed to kernels. On the emulated device it is an address of
    // this process, and differs from host_ptr() except for the caller's own memory.
    [[nodiscard]] void* device_ptr() const;
    [[nodiscard]] std::size_t size() const;       // bytes
    [[nodiscard]] bool coherent() const;          // flush and invalidate need no driver call
    [[nodiscard]] std::size_t atom_size() const;  // bytes

    // Pushes the CPU's writes to [offset, offset + size) out to the device: drains the
    // write-combining buffers, and on non-coherent memory flushes the range, widened to whole
    // atoms. Throws UsageError for a range outside the memory, VulkanError.
    void flush(std::size_t offset, std::size_t size) const;
    // Lets the CPU see the device's writes to the range. Does nothing on coherent memory.
    void invalidate(std::size_t offset, std::size_t size) const;
    // For access policies: nullptr on coherent memory.
    [[nodiscard]] RangeSync const* range_sync() const;

    // Returns a new close-on-exec descriptor by which another process, device or API can map the
    // same memory: for a GPU's memory an opaque one of Vulkan or a dma-buf, for memory of
    // Device::allocate_shared_host a memfd. Throws UnsupportedError for memory of allocate_host on
    // a GPU, for the caller's own memory, and for a GPU's memory that gdrcopy has mapped;
    // SystemError, VulkanError.
    [[nodiscard]] FileDescriptor export_fd() const;

   private:
    friend class Device;
    friend class detail::Lender;
    Memory(std::shared_ptr<detail::Backend> backend,
           std::unique_ptr<detail::Allocation> allocation);
    void retire();
    // Frees memory that no kernel uses, even while kernels live. Does nothing if the device cannot
    // (DeviceTraits::frees_beside_kernels).
    void free_at_once() noexcept;

    std::shared_ptr<detail::Backend> backend_;
    std::unique_ptr<detail::Allocation> allocation_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// Memory that the CPU and the device share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/detail/access/range_sync.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/language.hpp"
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

// Memory that the CPU and the device both address: device memory mapped into the CPU
// (Device::allocate) or page-locked host memory (Device::allocate_host, allocate_shared_host),
// which are zeroed when new, or page-locked memory of the caller's own (Device::register_host),
// which keeps what lies in it.
//
// Freed, or unregistered, with the object, except while a kernel lives on the device, because the
// CUDA driver would block in it until the kernel's end: then with the next memory that is let go or
// allocated when the last kernel has ended.
class Memory {
   public:
    Memory() noexcept;  // none
    Memory(Memory&&) noexcept;
    Memory& operator=(Memory&&) noexcept;
    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;
    ~Memory();

    // The CPU's address. Device memory is write-combining as a rule: write whole lines, then
    // flush(); never read it on a fast path (each load is a bus round trip).
    [[nodiscard]] void* host_ptr() const;
    // The device's address, to be passed to kernels. On the emulated device an address of this
    // process too, but a different one; the same for the caller's own memory.
    [[nodiscard]] void* device_ptr() const;
    [[nodiscard]] std::size_t size() const;       // bytes
    [[nodiscard]] bool coherent() const;          // flush and invalidate need no driver call
    [[nodiscard]] std::size_t atom_size() const;  // bytes

    // Pushes what the CPU wrote to [offset, offset + size) out to the device: drains the
    // write-combining buffers, and on non-coherent memory flushes the range, widened to whole
    // atoms. Throws UsageError for a range outside the memory, VulkanError.
    void flush(std::size_t offset, std::size_t size) const;
    // Lets the CPU see what the device wrote to the range; nothing to do on coherent memory.
    void invalidate(std::size_t offset, std::size_t size) const;
    // For access policies: nullptr on coherent memory.
    [[nodiscard]] RangeSync const* range_sync() const;

    // A new close-on-exec descriptor through which another process, device or API can map the
    // same memory: a GPU's as an opaque one of Vulkan's, or a dma-buf; what
    // Device::allocate_shared_host gave as a memfd. Throws UnsupportedError for what allocate_host
    // gave on a GPU, for the caller's own memory, and for a GPU's that gdrcopy has mapped;
    // SystemError, VulkanError.
    [[nodiscard]] FileDescriptor export_fd() const;

   private:
    friend class Device;
    friend class detail::Lender;
    Memory(std::shared_ptr<detail::Backend> backend,
           std::unique_ptr<detail::Allocation> allocation);
    void retire();
    // Frees memory that no kernel uses, without waiting until none lives. Where the device cannot
    // do that, nothing happens (DeviceTraits::frees_beside_kernels).
    void free_at_once() noexcept;

    std::shared_ptr<detail::Backend> backend_;
    std::unique_ptr<detail::Allocation> allocation_;
};

}  // namespace carillon

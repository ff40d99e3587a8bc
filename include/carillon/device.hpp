// SPDX-License-Identifier: Apache-2.0
// A device: a GPU or the emulated device, and the memory that it shares with the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/wire/language.hpp"
#include "carillon/device_info.hpp"
#include "carillon/device_traits.hpp"
#include "carillon/memory.hpp"

namespace carillon {

using detail::HostMapped;
using detail::HostStores;
using detail::StoreKind;
namespace detail {
class Backend;
struct DeviceAccess;
}  // namespace detail

// Where Device::allocate takes memory from.
enum class DeviceMemory : std::uint8_t {
    automatic,  // mapped; host where that cannot be had, and DeviceInfo::why_host_memory says why
    mapped,     // GPU memory that is mapped into the CPU
    host,       // page-locked host memory, which the GPU polls across the bus
};

struct DeviceOptions {
    DeviceMemory memory = DeviceMemory::automatic;
    // Refuse device memory that needs flush and invalidate (UnsupportedError).
    bool require_coherent = false;
    // Treat device memory as non-coherent even where it is coherent: every publish is flushed
    // through the driver. For tests, and for memory that is suspected to lie.
    bool force_non_coherent = false;
    // Treat the device as one that does not keep the order of the CPU's writes: before a message
    // that refers to data, the CPU reads device memory back (DeviceInfo::data_order). For tests.
    bool force_read_back = false;
    // Bytes of stack that each thread of a GPU has from the opening on: CUDA gives them more only
    // while no kernel runs. It takes so many bytes for each thread that can be resident
    // (8 KiB are 2.2 GB on an H100). None: CARILLON_STACK_BYTES in the environment, or else what
    // the largest kernel of the program uses. More where CUDA has given them more, or where the
    // first kernel itself uses more.
    std::optional<std::size_t> stack_bytes = std::nullopt;
};

// A GPU, or the emulated device: CPU threads that run the same handlers over the same rings.
// A handle: copies share the device. What the drivers have opened for a GPU, the CUDA context among
// it, stays until the process ends: drivers give out when that is done again and again.
class CARILLON_LAYOUT Device {
   public:
    Device(Device const&) = default;  // and moves: none is ever without a device
    Device& operator=(Device const&) = default;
    ~Device() = default;

    // Opens the device that `selector` names:
    //   "best"             the first GPU, or the emulated device on a machine that has none: a
    //                      line on stderr says so, once
    //   "cuda:N" or "N"    the GPU with CUDA's ordinal N
    //   "GPU-<uuid>"       the GPU with that UUID, as nvidia-smi prints it
    //   "cuda:N:host"      the same as "cuda:N" with DeviceMemory::host
    //   "current"          the GPU of the calling thread's current CUDA context, in that context
    //   "emulated"         the emulated device, in shared memory
    //   "emulated:vulkan"  the same, its memory from Vulkan's CPU driver (Mesa lavapipe)
    // Throws DeviceNotFoundError, UnsupportedError, CudaError, VulkanError, UsageError.
    [[nodiscard]] static Device open(NameArgument selector = "best",
                                     DeviceOptions const& options = {});

    // Every device of this machine that open() could be asked for, GPUs first. A device that
    // cannot be opened is listed with the reason as its name.
    [[nodiscard]] static std::vector<DeviceInfo> list();

    // What open() takes, in words, for help and errors; and whether it takes `selector` for a
    // GPU's, "best" among them.
    [[nodiscard]] static std::string selectors();
    [[nodiscard]] static bool names_gpu(NameArgument selector);

    // What it is and how it is used: for reports, and for people.
    [[nodiscard]] DeviceInfo const& info() const;
    // Whether it only stands in for a GPU, so that its figures say nothing about one. What it does
    // otherwise than a GPU is in traits().
    [[nodiscard]] bool emulated() const { return info().emulated; }
    [[nodiscard]] DeviceTraits const& traits() const;
    // What the stack of a GPU's threads takes; zeros for another device. Loads the kernels of the
    // program unless a kernel lives there: `needed` is 0 then. Throws CudaError.
    [[nodiscard]] StackUse stack() const;
    // Whether `blocks` blocks and a thread of the host are more than the processors that they
    // share.
    [[nodiscard]] bool oversubscribed(unsigned blocks) const;

    // Device memory, mapped into the CPU (or what DeviceOptions::memory made of it). `size` in
    // bytes, over 0. Throws UsageError, OutOfMemoryError with the heap's size and budget,
    // VulkanError, CudaError.
    [[nodiscard]] Memory allocate(std::size_t size) const;
    // Page-locked host memory that the device addresses. Throws the same.
    [[nodiscard]] Memory allocate_host(std::size_t size) const;
    // The same in shared memory of a size that nobody can change, for processes without CUDA:
    // whoever gets a descriptor of Memory::export_fd maps it. Registered as memory of the caller's
    // own is, so best before kernels start too. Throws the same, SystemError.
    [[nodiscard]] Memory allocate_shared_host(std::size_t size) const;
    // Memory of the caller's own, of any alignment, page-locked and at an address of the device's:
    // a Memory like those of allocate_host, with what lies there. For memory that is used again and
    // again (DeviceWriter): registering it makes the driver lock every page. Best before kernels
    // start (docs/hazards.md).
    //
    // `bytes` stay where they are until they are unregistered: when the Memory goes, or later if a
    // kernel lives on the device then (Memory). `owner` is kept until then: whatever owns the
    // bytes, or tells by its end that they may be freed. Throws UsageError for no bytes, for a null
    // pointer, and where some of the bytes are registered already, or still, with whichever device;
    // OutOfMemoryError, CudaError.
    [[nodiscard]] Memory register_host(std::span<std::byte> bytes,
                                       std::shared_ptr<void const> owner = {}) const;

    // GPU memory that the program has got from CUDA itself (cudaMalloc, cuMemAlloc), mapped into
    // the CPU: `size` bytes from an address on that is a multiple of 64 KiB. What lies there stays.
    // It is freed by whoever got it, once the Memory has gone. Works where the driver lets its
    // dma-bufs be mapped, or gdrcopy's kernel module is loaded; what allocate() gives is mapped
    // everywhere. Throws UsageError for no address of this device's, UnsupportedError with the
    // reasons where there is no way to map it, CudaError.
    [[nodiscard]] Memory map(void* device_address, std::size_t size) const;

    // How the CPU stores into this device's memory.
    [[nodiscard]] HostStores stores() const;
    // Chooses another way, for tests and measurements, for rings that are made from now on.
    // Throws UnsupportedError when this CPU lacks the instruction.
    void set_stores(HostStores stores) const;
    // The CPU's access policy for `memory`, which allocate() of this device gave; with stores of
    // the caller's choice, for tests and measurements, in the second form. Throws UsageError for no
    // memory and for that of another device, UnsupportedError as set_stores.
    [[nodiscard]] HostMapped access(Memory const& memory) const { return access(memory, stores()); }
    [[nodiscard]] HostMapped access(Memory const& memory, HostStores stores) const;

    // Whether the memory is of this device, however often that was opened.
    [[nodiscard]] bool owns(Memory const& memory) const;

   private:
    friend struct detail::DeviceAccess;
    explicit Device(std::shared_ptr<detail::Backend> backend) : backend_(std::move(backend)) {}

    std::shared_ptr<detail::Backend> backend_;
};

}  // namespace carillon

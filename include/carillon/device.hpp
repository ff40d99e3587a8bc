// SPDX-License-Identifier: Apache-2.0
// A device: a GPU or the emulated device, and the memory that it shares with the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/device_info.hpp"    // IWYU pragma: export
#include "carillon/device_traits.hpp"  // IWYU pragma: export
#include "carillon/memory.hpp"         // IWYU pragma: export

namespace carillon {

using detail::HostMapped;
using detail::HostStores;
using detail::StoreKind;
namespace detail {
class Backend;
struct DeviceAccess;
}  // namespace detail

// The kind of memory that Device::allocate takes.
enum class DeviceMemory : std::uint8_t {
    automatic,  // mapped; host if that is not available (see DeviceInfo::why_host_memory)
    mapped,     // GPU memory that is mapped into the CPU
    host,       // page-locked host memory, which the GPU polls across the bus
};

struct DeviceOptions {
    DeviceMemory memory = DeviceMemory::automatic;
    // Refuse device memory that needs flush and invalidate (UnsupportedError).
    bool require_coherent = false;
    // Treat device memory as non-coherent even if it is coherent: every publish is flushed through
    // the driver. For tests, and for memory that may report its coherence wrongly.
    bool force_non_coherent = false;
    // Treat the device as one that does not keep the order of the CPU's writes: before a message
    // that refers to data, the CPU reads device memory back (DeviceInfo::data_order). For tests.
    bool force_read_back = false;
    // Bytes of stack for each thread of a GPU, set when it is opened: CUDA enlarges stacks only
    // while no kernel runs. CUDA takes that memory for each thread that can be resident (8 KiB are
    // 2.2 GB on an H100). The default is CARILLON_STACK_BYTES of the environment, or else what the
    // largest kernel of the program uses. Stacks are larger if CUDA was told so already, or if the
    // first kernel itself needs more.
    std::optional<std::size_t> stack_bytes = std::nullopt;
};

// A GPU, or the emulated device: CPU threads that run the same handlers over the same rings. It is
// a handle: copies share the device. The drivers' state for a GPU, including the CUDA context,
// stays until the process ends: drivers run out of resources if it is opened again and again.
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

    // The selectors that open() takes, in words, for help and errors; and whether open() takes
    // `selector` for a GPU's, including "best".
    [[nodiscard]] static std::string selectors();
    [[nodiscard]] static bool names_gpu(NameArgument selector);

    // A description of the device and of how it is used, for reports and for people.
    [[nodiscard]] DeviceInfo const& info() const;
    // Whether it only stands in for a GPU, so that its figures say nothing about one. traits() has
    // the other differences.
    [[nodiscard]] bool emulated() const { return info().emulated; }
    [[nodiscard]] DeviceTraits const& traits() const;
    // The stack memory of a GPU's threads; zeros for another device. Loads the kernels of the
    // program unless a kernel lives there; in that case `needed` is 0. Throws CudaError.
    [[nodiscard]] StackUse stack() const;
    // Whether `blocks` blocks and one host thread outnumber the processors that they share.
    [[nodiscard]] bool oversubscribed(unsigned blocks) const;

    // Device memory, mapped into the CPU (or the kind that DeviceOptions::memory chose). `size` is
    // in bytes, over 0. Throws UsageError, OutOfMemoryError with the heap's size and budget,
    // VulkanError, CudaError.
    [[nodiscard]] Memory allocate(std::size_t size) const;
    // Page-locked host memory that the device addresses. Throws what allocate() throws.
    [[nodiscard]] Memory allocate_host(std::size_t size) const;
    // Page-locked shared memory of a fixed size, for processes without CUDA, which map it by a
    // descriptor of Memory::export_fd. It is registered like the caller's own memory, so it is best
    // allocated before kernels start. Throws what allocate() throws, SystemError.
    [[nodiscard]] Memory allocate_shared_host(std::size_t size) const;
    // Page-locks the caller's memory, of any alignment, and gives it an address on the device: a
    // Memory like those of allocate_host, with the bytes already there. Use it for memory that is
    // used again and again (DeviceWriter): the driver has to lock every page. It is best done
    // before kernels start (docs/dev/hazards.md).
    //
    // `bytes` must stay in place until they are unregistered: when the Memory goes, or later if a
    // kernel lives on the device then (Memory). `owner` is kept until then; it can own the bytes,
    // or tell by its end that they may be freed. Throws UsageError for no bytes, for a null
    // pointer, and if some of the bytes are still registered with any device; OutOfMemoryError,
    // CudaError.
    [[nodiscard]] Memory register_host(std::span<std::byte> bytes,
                                       std::shared_ptr<void const> owner = {}) const;

    // Maps GPU memory that the program got from CUDA itself (cudaMalloc, cuMemAlloc) into the CPU:
    // `size` bytes from an address that is a multiple of 64 KiB. The bytes there stay. The program
    // frees the memory after the Memory has gone. This works if the driver lets its dma-bufs be
    // mapped, or with gdrcopy's kernel module; memory of allocate() is mapped everywhere. Throws
    // UsageError for an address that is not of this device, UnsupportedError with the reasons if
    // there is no way to map it, CudaError.
    [[nodiscard]] Memory map(void* device_address, std::size_t size) const;

    // The instructions by which the CPU stores into this device's memory.
    [[nodiscard]] HostStores stores() const;
    // Chooses other instructions for rings that are made from now on. For tests and measurements.
    // Throws UnsupportedError if this CPU lacks the instruction.
    void set_stores(HostStores stores) const;
    // The CPU's access policy for `memory`, which allocate() of this device gave. The second form
    // chooses the stores, for tests and measurements. Throws UsageError for no memory and for
    // memory of another device, UnsupportedError, see set_stores.
    [[nodiscard]] HostMapped access(Memory const& memory) const { return access(memory, stores()); }
    [[nodiscard]] HostMapped access(Memory const& memory, HostStores stores) const;

    // Whether the memory is of this device, whichever Device object allocated it.
    [[nodiscard]] bool owns(Memory const& memory) const;

   private:
    friend struct detail::DeviceAccess;
    explicit Device(std::shared_ptr<detail::Backend> backend) : backend_(std::move(backend)) {}

    std::shared_ptr<detail::Backend> backend_;
};

namespace detail {

// Access to a Device for the library and its tests, not for users.
struct DeviceAccess {
    [[nodiscard]] static std::shared_ptr<Backend> const& backend(Device const& device) {
        return device.backend_;
    }
    [[nodiscard]] static Device device(std::shared_ptr<Backend> backend) {
        return Device(std::move(backend));
    }
};

}  // namespace detail

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// `Device`, with which every program begins: a GPU or the emulated device, and its memory.
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
    automatic,  // mapped if available, otherwise host (see DeviceInfo::why_host_memory)
    mapped,     // GPU memory that is mapped into the CPU
    host,       // pinned host memory, which the GPU polls across the bus
};

// The options of Device::open.
struct DeviceOptions {
    DeviceMemory memory = DeviceMemory::automatic;
    // Refuse device memory that needs flush and invalidate (UnsupportedError).
    bool require_coherent = false;
    // Treat device memory as non-coherent even if it is coherent: the driver flushes every publish.
    // For tests, and for memory that may report its coherence wrongly.
    bool force_non_coherent = false;
    // Treat the device as one that may reorder the CPU's writes: the CPU reads device memory back
    // before it sends a message that refers to data (DeviceInfo::data_order). For tests.
    bool force_read_back = false;
    // Bytes of stack for each thread of a GPU, set when the GPU is opened, because CUDA enlarges
    // stacks only while no kernel runs. CUDA allocates this for each thread that can be resident.
    // The default is the environment variable CARILLON_STACK_BYTES, or else the use of the
    // program's largest kernel. Stacks are larger if CUDA's limit is larger already, or if the
    // first kernel needs more.
    std::optional<std::size_t> stack_bytes = std::nullopt;
};

// A GPU, or the emulated device: CPU threads that run the same handlers over the same rings. It is
// a handle: copies share the device. The drivers' state for a GPU, including the CUDA context,
// stays until the process ends: drivers run out of resources if a GPU is opened repeatedly.
class CARILLON_LAYOUT Device {
   public:
    Device(Device const&) = default;  // and moves: every Device has a device
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

    // Lists every device of this machine that open() knows, GPUs first. A device that cannot be
    // opened has the reason as its name.
    [[nodiscard]] static std::vector<DeviceInfo> list();

    // selectors() describes the selectors of open(), for help and error texts. names_gpu() returns
    // whether open() takes `selector` for a GPU's, including "best".
    [[nodiscard]] static std::string selectors();
    [[nodiscard]] static bool names_gpu(NameArgument selector);

    // Describes the device and how it is used, for reports and people.
    [[nodiscard]] DeviceInfo const& info() const;
    // Whether this is the emulated device, whose timings say nothing about a GPU; see traits().
    [[nodiscard]] bool emulated() const { return info().emulated; }
    [[nodiscard]] DeviceTraits const& traits() const;
    // The stack memory of a GPU's threads; zeros for the emulated device. Loads the program's
    // kernels, unless a kernel lives on the device; then `needed` is 0. Throws CudaError.
    [[nodiscard]] StackUse stack() const;
    // Whether `blocks` blocks and one host thread outnumber the processors that they share.
    [[nodiscard]] bool oversubscribed(unsigned blocks) const;

    // Allocates device memory that is mapped into the CPU, or the kind that DeviceOptions::memory
    // chose. `size` is in bytes, over 0. Throws UsageError, OutOfMemoryError with the heap's size
    // and budget, VulkanError, CudaError.
    [[nodiscard]] Memory allocate(std::size_t size) const;
    // Allocates pinned host memory that the device can address. Throws what allocate() throws.
    [[nodiscard]] Memory allocate_host(std::size_t size) const;
    // Allocates pinned shared memory of a fixed size for processes without CUDA, which map it
    // by the descriptor of Memory::export_fd. It is registered like memory for register_host(), so
    // allocate it before kernels start. Throws what allocate() throws, SystemError.
    [[nodiscard]] Memory allocate_shared_host(std::size_t size) const;
    // Page-locks the caller's memory, of any alignment, and gives it an address on the device. The
    // result is like memory of allocate_host(), with the caller's bytes in it. Use it for memory
    // that is used again and again (DeviceWriter), because the driver locks every page. Call it
    // before kernels start (docs/dev/hazards.md).
    //
    // `bytes` must stay in place until they are unregistered: when the Memory is destroyed, or
    // later if a kernel then lives on the device (`Memory`). `owner` is kept until then: it can own
    // the bytes, or signal by its destruction that they may be freed. Throws UsageError for no
    // bytes, for a null pointer, and if some of the bytes are still registered with any device;
    // OutOfMemoryError, CudaError.
    [[nodiscard]] Memory register_host(std::span<std::byte> bytes,
                                       std::shared_ptr<void const> owner = {}) const;

    // Maps GPU memory that the program allocated with CUDA (cudaMalloc, cuMemAlloc) into the CPU:
    // `size` bytes from an address that is a multiple of 64 KiB. Their content stays. Free the
    // memory after the Memory is destroyed. This works if the driver can map its dma-bufs, or with
    // gdrcopy's kernel module; allocate() works everywhere. Throws UsageError for an address of
    // another device, UnsupportedError with the reasons if it cannot be mapped, CudaError.
    [[nodiscard]] Memory map(void* device_address, std::size_t size) const;

    // The instructions with which the CPU stores into this device's memory.
    [[nodiscard]] HostStores stores() const;
    // Chooses other instructions for rings made from now on. For tests and measurements. Throws
    // UnsupportedError if this CPU lacks the instruction.
    void set_stores(HostStores stores) const;
    // The CPU's access policy for `memory`, from allocate() of this device. The second form chooses
    // the stores, for tests and measurements. Throws UsageError for an empty Memory and for memory
    // of another device; UnsupportedError, see set_stores().
    [[nodiscard]] HostMapped access(Memory const& memory) const { return access(memory, stores()); }
    [[nodiscard]] HostMapped access(Memory const& memory, HostStores stores) const;

    // Whether the memory belongs to this device, whichever Device object allocated it.
    [[nodiscard]] bool owns(Memory const& memory) const;

   private:
    friend struct detail::DeviceAccess;
    explicit Device(std::shared_ptr<detail::Backend> backend) : backend_(std::move(backend)) {}

    std::shared_ptr<detail::Backend> backend_;
};

namespace detail {

// Gives the library and its tests access to a Device's backend. Not for users.
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

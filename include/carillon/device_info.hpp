// SPDX-License-Identifier: Apache-2.0
// `DeviceInfo`: describes a device and its use, for reports. Device::info() returns it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/error.hpp"

namespace carillon {

struct MemoryTypeInfo {
    std::vector<std::string> properties;  // Vulkan's names: "DeviceLocal", "HostVisible", ...
    unsigned heap = 0;                    // index of DeviceInfo::heaps
};

struct HeapInfo {
    std::uint64_t size = 0;               // bytes
    std::optional<std::uint64_t> budget;  // bytes this process may use (VK_EXT_memory_budget)
    bool device_local = false;
    bool host_visible = false;  // a memory type of this heap can be mapped through the BAR
};

// The step between writing data to device memory and publishing the message that refers to them.
enum class DataOrder : std::uint8_t {
    fence,      // a store fence: the device sees the CPU's writes in order
    read_back,  // a fence and a load of device memory: the device may reorder the CPU's writes
};

[[nodiscard]] std::string_view to_string(DataOrder order);  // "fence" or "read-back"

// The source of a device's memory.
enum class MemorySource : std::uint8_t {
    unknown,  // a device that could not be opened
    vulkan,   // Vulkan's device-local mappable memory; its CPU driver's for the emulated device
    dma_buf,  // CUDA memory, mapped through its dma-buf
    gdrcopy,  // CUDA memory, mapped by gdrcopy
    host,     // pinned host memory
    memfd,    // shared memory, for the emulated device
};

// "vulkan", "dma-buf", "gdrcopy", "host" or "memfd"; empty for unknown.
[[nodiscard]] std::string_view to_string(MemorySource source);

// A device, and how it is used.
struct DeviceInfo {
    std::string selector;  // opens this device again: "cuda:0", "emulated", "emulated:vulkan"
    std::string name;
    std::string uuid;  // "GPU-..." for a GPU, empty for the emulated device
    bool emulated = false;
    std::string why_emulated;  // the reason if "best" did not find a GPU; empty otherwise

    // The reason if a GPU's rings lie in pinned host memory; empty otherwise.
    std::string why_host_memory;
    MemorySource memory_source = MemorySource::unknown;
    bool coherent = true;       // false: the library flushes and invalidates
    std::size_t atom_size = 1;  // bytes; flushed and invalidated ranges are widened to it
    std::vector<MemoryTypeInfo> memory_types;
    std::vector<HeapInfo> heaps;
    int memory_type = -1;                   // index of the type that Device::allocate uses
    std::optional<std::uint64_t> bar_size;  // bytes of the PCI BAR that maps its memory
    std::optional<int> write_ordering;      // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
    DataOrder data_order = DataOrder::fence;
    std::optional<int> compute_capability;  // 90 for sm_90
    std::optional<int> sm_count;            // none: the device has no SMs
    std::string pci_bus_id;

    std::string store_instruction;  // towards this device's memory
    std::string publish_mode;       // "one-step" or "two-step"
    std::string module_loading;     // "eager" or "lazy" (CUDA), "" for the emulated device
    std::string cuda_driver;        // version of the CUDA driver API, "13.0"
    std::string kernel_driver;      // version of the kernel module, "580.159.04"
    std::string vulkan_driver;      // name and version as Vulkan reports them
    std::string vulkan_api;         // "1.3.230"
};

// The stacks of a GPU's threads. CUDA allocates them for all threads that can be resident.
struct StackUse {
    std::size_t limit = 0;      // bytes that each thread has now
    std::size_t needed = 0;     // bytes that the largest of the program's kernels uses
    std::uint64_t threads = 0;  // threads that can be resident
    // Bytes of all stacks once the first kernel has started.
    [[nodiscard]] std::uint64_t bytes() const { return (std::max)(limit, needed) * threads; }
};

}  // namespace carillon

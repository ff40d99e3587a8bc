// SPDX-License-Identifier: Apache-2.0
// The facts that `carillon doctor` reads about the machine, apart from its judgement: the checks
// get these, so that tests can make them up.
#pragma once

#include <carillon/device.hpp>
#include <carillon/device_info.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/mapping.hpp"

namespace carillon::tool {

using Variables = std::map<std::string, std::string>;  // of the environment

struct BuildFacts {
    bool gpu_memory = false;   // built with cuda.h: opens GPUs
    bool device_code = false;  // built with nvcc: has kernels for them
};

// A GPU as the CUDA driver describes it.
struct GpuFacts {
    std::string name;
    std::string uuid;  // "GPU-..."
    std::string pci_bus_id;
    std::optional<int> compute_mode;    // as CUDA and NVML number them
    std::optional<int> run_time_limit;  // 1: of kernels, there is one
};

struct DriverFacts {
    bool container = false;
    Variables variables;
    std::vector<std::string> pci_gpus;  // NVIDIA's, on the PCI bus
    std::string kernel_module;          // its version, empty without one
    std::vector<std::string> nodes;     // /dev/nvidia*
    std::string library_error;          // why libcuda.so.1 cannot be loaded
    std::string library_version;        // of that file, "580.159.04"
    int api_version = 0;                // 13000 for 13.0
    std::string init_error;             // what cuInit says, "CUDA_ERROR_NO_DEVICE"
    std::vector<GpuFacts> gpus;
};

// NVML's facts about a GPU; those that it does not report are empty.
struct NvmlFacts {
    std::optional<bool> persistence;
    std::optional<bool> mig;
    std::optional<std::uint64_t> bar_bytes;
    std::optional<std::uint64_t> bar_free_bytes;
};

// A file that describes a driver to Vulkan's loader (ICD).
struct IcdFile {
    std::string path;
    std::string library;  // as the file names it
    std::string error;    // why the file cannot be read or its library not be loaded
};

struct VulkanGpu {
    std::string name;
    std::string uuid;  // "GPU-..."
    bool cpu = false;
    bool mappable = false;  // has device-local memory that can be mapped
};

struct VulkanFacts {
    std::string loader_error;  // why libvulkan.so.1 cannot be loaded
    std::string variable;      // VK_DRIVER_FILES or VK_ICD_FILENAMES, if that names the files
    std::vector<IcdFile> icds;
    std::string egl_error;  // why libEGL_nvidia.so.0 cannot be loaded
    std::vector<VulkanGpu> devices;
    std::string instance_error;
};

// A try to open the device, and to call a kernel there.
struct OpenFacts {
    std::string error;  // why it cannot be opened
    DeviceInfo info;
    StackUse stack = {};  // before a kernel was started
};
struct CallFacts {
    std::string skipped;  // why it was not tried
    std::string error;
    double p50_ns = 0;
};

struct SlotFacts {
    std::string link_speed;  // "32.0 GT/s PCIe"
    std::string link_speed_max;
    int link_width = 0;  // 0: unknown
    int link_width_max = 0;
    int memory_node = -1;               // one of the CPU's nodes; -1: unknown
    std::vector<unsigned> local_cores;  // near it; none: unknown
    std::string iommu_type;             // of its group: "DMA", "DMA-FQ", "identity"
};

struct CpuFacts {
    bool avx = true;
    std::vector<std::string> stores;  // vector stores that it has, the best first
    std::string publish_mode;         // "one-step" or "two-step"
    bool waitpkg = false;
    std::vector<unsigned> allowed;       // cores that the process may run on
    std::vector<std::string> governors;  // of their clocks, each once
};

struct HostFacts {
    std::size_t iommu_groups = 0;
    bool mps_control = false;  // the control daemon's pipe is there
    // The first line of a system file, empty without it: for files that only one check reads.
    std::function<std::string(std::string const& path)> line_of = [](std::string const& /*path*/) {
        return std::string();
    };
    std::map<int, std::uint64_t> limits;  // soft ones, by resource (RLIMIT_...); none: unlimited

    [[nodiscard]] std::optional<std::uint64_t> limit(int resource) const {
        auto const found = limits.find(resource);
        return found == limits.end() ? std::nullopt : std::optional(found->second);
    }
};

// The GPU that `selector` names, if CUDA sees it.
[[nodiscard]] GpuFacts const* chosen_gpu(std::string_view selector, DriverFacts const& driver);

struct Facts {
    std::string selector;
    BuildFacts build;
    DriverFacts driver;
    VulkanFacts vulkan;
    OpenFacts open;
    CallFacts call;
    std::optional<MappingReport> mapping;
    NvmlFacts nvml;
    nlohmann::json clocks = nlohmann::json::object();  // gpu_state()
    SlotFacts slot;
    CpuFacts cpu;
    HostFacts host;

    // A GPU was asked for, or would have been taken.
    [[nodiscard]] bool wants_gpu() const { return Device::names_gpu(selector); }
    // The memory of no other emulated device comes from there.
    [[nodiscard]] bool wants_lavapipe() const { return selector == "emulated:vulkan"; }
    // The GPU that the selector names, if CUDA sees it.
    [[nodiscard]] GpuFacts const* gpu() const { return chosen_gpu(selector, driver); }
};

// All that concerns the device that `selector` names. Throws UsageError for one that makes no
// sense.
[[nodiscard]] Facts read_facts(std::string const& selector);

// Readers, each of its part.
[[nodiscard]] Variables read_variables();
[[nodiscard]] DriverFacts read_driver(Variables variables);
[[nodiscard]] NvmlFacts read_nvml(std::string const& pci_bus_id);
[[nodiscard]] VulkanFacts read_vulkan(Variables const& variables);
[[nodiscard]] SlotFacts read_slot(std::string const& pci_bus_id);
[[nodiscard]] CpuFacts read_cpu();
[[nodiscard]] HostFacts read_host(Variables const& variables);
// Starts a kernel that ends by itself, and calls it a few times.
[[nodiscard]] CallFacts try_call(Device const& device);

// Parses "0-3,8", the kernel's form of a set of cores; empty for any other text.
[[nodiscard]] std::vector<unsigned> parse_cores(std::string_view text);
// Reads the file that describes a Vulkan driver, without loading the driver's library.
[[nodiscard]] IcdFile parse_icd(std::string const& path);
// The files that the loader looks at, in its order.
[[nodiscard]] std::vector<std::string> icd_paths(Variables const& variables);

}  // namespace carillon::tool

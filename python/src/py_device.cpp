// SPDX-License-Identifier: Apache-2.0
#include "carillon/device.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.hpp"
#include "carillon/error.hpp"
#include "gil.hpp"
#include "py_door.hpp"
#include "py_memory.hpp"
#include "shown.hpp"

namespace carillon::python {
namespace {

DeviceMemory memory_of(std::string const& name) {
    if (name == "automatic") return DeviceMemory::automatic;
    if (name == "mapped") return DeviceMemory::mapped;
    if (name == "host") return DeviceMemory::host;
    throw UsageError("memory is \"automatic\", \"mapped\" or \"host\", not \"" + name + '"');
}

void open(Device* self, std::string const& selector, std::string const& memory,
          bool require_coherent, bool force_non_coherent, bool force_read_back) {
    DeviceOptions const options{memory_of(memory), require_coherent, force_non_coherent,
                                force_read_back};
    OthersRun const others_run;
    new (self) Device(Device::open(selector, options));
}

std::vector<DeviceInfo> devices() {
    OthersRun const others_run;
    return Device::list();
}

using Allocate = Memory (Device::*)(std::size_t) const;

template <Allocate allocate>
SharedMemory* allocated(Device const& device, std::size_t size) {
    OthersRun const others_run;
    return new SharedMemory(device, (device.*allocate)(size));
}

std::string device_shown(Device const& device) {
    return "carillon.Device(\"" + device.info().selector + "\")";
}

void bind_info(nb::module_& module) {
    nb::class_<MemoryTypeInfo> type(module, "MemoryTypeInfo", "A Vulkan memory type.");
    show(type, {"properties", "heap"});
    type.def_ro("properties", &MemoryTypeInfo::properties, "Vulkan's names: \"DeviceLocal\"...")
        .def_ro("heap", &MemoryTypeInfo::heap, "Index into DeviceInfo.heaps.");
    nb::class_<HeapInfo> heap(module, "HeapInfo", "A Vulkan memory heap.");
    show(heap, {"size", "budget", "device_local", "host_visible"});
    heap.def_ro("size", &HeapInfo::size, "Bytes.")
        .def_ro("budget", &HeapInfo::budget, "Bytes that this process may use, if known.")
        .def_ro("device_local", &HeapInfo::device_local, "Whether it is the device's memory.")
        .def_ro("host_visible", &HeapInfo::host_visible, "Whether the CPU can map it.");
    nb::class_<DeviceInfo>(module, "DeviceInfo", "Properties of a device and of its use.")
        .def_ro("selector", &DeviceInfo::selector, "Opens this device again.")
        .def_ro("name", &DeviceInfo::name)
        .def_ro("uuid", &DeviceInfo::uuid, "\"GPU-...\", empty for the emulated device.")
        .def_ro("emulated", &DeviceInfo::emulated)
        .def_ro("why_emulated", &DeviceInfo::why_emulated,
                "The reason if \"best\" did not find a GPU; empty otherwise.")
        .def_ro("why_host_memory", &DeviceInfo::why_host_memory,
                "The reason if a GPU's rings lie in pinned host memory; empty otherwise.")
        .def_prop_ro(
            "memory_source",
            [](DeviceInfo const& info) { return std::string(to_string(info.memory_source)); },
            "\"vulkan\", \"dma-buf\", \"gdrcopy\", \"host\" or \"memfd\".")
        .def_ro("coherent", &DeviceInfo::coherent,
                "Whether flush() and invalidate() need no driver call.")
        .def_ro("atom_size", &DeviceInfo::atom_size,
                "Bytes; flush() and invalidate() widen their ranges to multiples of it.")
        .def_ro("memory_types", &DeviceInfo::memory_types)
        .def_ro("heaps", &DeviceInfo::heaps)
        .def_ro("memory_type", &DeviceInfo::memory_type,
                "Index into memory_types of the type that allocate() uses; -1: none.")
        .def_ro("bar_size", &DeviceInfo::bar_size, "Bytes of the PCI BAR that maps its memory.")
        .def_prop_ro(
            "data_order",
            [](DeviceInfo const& info) { return std::string(to_string(info.data_order)); },
            "The step between data and the message that refers to them: \"fence\" or "
            "\"read-back\".")
        .def_ro("compute_capability", &DeviceInfo::compute_capability, "90 for sm_90.")
        .def_ro("sm_count", &DeviceInfo::sm_count, "The number of SMs; None without SMs.")
        .def_ro("pci_bus_id", &DeviceInfo::pci_bus_id)
        .def_ro("store_instruction", &DeviceInfo::store_instruction,
                "The CPU's instruction for stores into the device's memory.")
        .def_ro("publish_mode", &DeviceInfo::publish_mode, "\"one-step\" or \"two-step\".")
        .def_ro("cuda_driver", &DeviceInfo::cuda_driver,
                "The version of the CUDA driver API, \"13.0\".")
        .def_ro("kernel_driver", &DeviceInfo::kernel_driver,
                "The version of the kernel module, \"580.159.04\".")
        .def_ro("vulkan_driver", &DeviceInfo::vulkan_driver,
                "The Vulkan driver's name and version.")
        .def_ro("vulkan_api", &DeviceInfo::vulkan_api, "The version of Vulkan, \"1.3.230\".")
        .def("__repr__", [](DeviceInfo const& info) {
            return "<carillon.DeviceInfo of " + info.selector + ": " + info.name + ">";
        });
}

}  // namespace

void bind_device(nb::module_& module) {
    bind_info(module);
    nb::class_<Device> device(
        module, "Device",
        "A GPU, or the emulated device: CPU threads that run the same handlers over "
        "the same rings.");
    Doors(device, "Device.")
        .def_init("Device", open, nb::arg("selector") = "best", nb::kw_only(),
                  nb::arg("memory") = "automatic", nb::arg("require_coherent") = false,
                  nb::arg("force_non_coherent") = false, nb::arg("force_read_back") = false,
                  "Opens the device that `selector` names: \"best\", \"cuda:N\", "
                  "\"GPU-<uuid>\",\n\"cuda:N:host\", \"current\" (the calling thread's current "
                  "CUDA context),\n\"emulated\" or \"emulated:vulkan\".\n\n`memory`: the source "
                  "for allocate(): \"mapped\" is GPU memory that is mapped into the\nCPU, "
                  "\"host\" is pinned host memory, \"automatic\" is mapped memory if it is "
                  "available.\n`require_coherent`: refuse memory that needs flush() and "
                  "invalidate().\n`force_non_coherent`, for tests: flush memory even if it is "
                  "coherent.\n`force_read_back`, for tests: read device memory back before a "
                  "message that refers to\ndata.\n\nRaises DeviceNotFoundError, "
                  "UnsupportedError, CudaError, VulkanError, UsageError.")
        .def_static("Device.list", "list", devices, "Every device of this machine, GPUs first.")
        .def_static("Device.selectors", "selectors", &Device::selectors,
                    "The selectors of the constructor, in words.")
        .def_prop_ro("info", &Device::info, nb::rv_policy::copy,
                     "Describes the device and its use.")
        .def_prop_ro("emulated", &Device::emulated,
                     "Whether the device only emulates a GPU; its timings say nothing about one.")
        .def("allocate", allocated<&Device::allocate>, nb::arg("size"),
             "Device memory of `size` bytes, over 0, mapped into the CPU and zeroed.\n\n"
             "Raises UsageError, OutOfMemoryError, VulkanError, CudaError.")
        .def("allocate_host", allocated<&Device::allocate_host>, nb::arg("size"),
             "Pinned host memory that the device addresses. Raises as allocate().")
        .def(
            "owns",
            [](Device const& self, SharedMemory const& memory) { return self.owns(memory.get()); },
            nb::arg("memory"), "Whether the memory belongs to this device.")
        .def("__repr__", device_shown);
}

}  // namespace carillon::python

// SPDX-License-Identifier: Apache-2.0
#include "report/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <carillon/detail/access/host_mapped.hpp>
#include <carillon/detail/machine/pause.hpp>
#include <carillon/error.hpp>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iostream>
#include <utility>

#include "build_info.hpp"
#include "measure/latency.hpp"
#include "report/gpu_state.hpp"

namespace carillon::tool {
namespace {

using nlohmann::json;

template <class T>
json or_null(std::optional<T> const& value) {
    return value ? json(*value) : json(nullptr);
}

std::string gib(std::uint64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        auto const colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

}  // namespace

json to_json(DeviceInfo const& info) {
    json types = json::array();
    for (MemoryTypeInfo const& type : info.memory_types) {
        types.push_back({{"properties", type.properties}, {"heap", type.heap}});
    }
    json heaps = json::array();
    for (HeapInfo const& heap : info.heaps) {
        heaps.push_back({{"size_bytes", heap.size},
                         {"budget_bytes", or_null(heap.budget)},
                         {"device_local", heap.device_local},
                         {"host_visible", heap.host_visible}});
    }
    return {{"selector", info.selector},
            {"device", info.name},
            {"uuid", info.uuid},
            {"emulated", info.emulated},
            {"why_emulated", info.why_emulated},
            {"memory_source", to_string(info.memory_source)},
            {"why_host_memory", info.why_host_memory},
            {"coherent", info.coherent},
            {"atom_bytes", info.atom_size},
            {"memory_types", types},
            {"memory_type", info.memory_type},
            {"heaps", heaps},
            {"bar_bytes", or_null(info.bar_size)},
            {"write_ordering", or_null(info.write_ordering)},
            {"data_order", to_string(info.data_order)},
            {"compute_capability", or_null(info.compute_capability)},
            {"multiprocessors", or_null(info.multiprocessors)},
            {"pci_bus_id", info.pci_bus_id},
            {"store_instruction", info.store_instruction},
            {"publish_mode", info.publish_mode},
            {"module_loading", info.module_loading},
            {"cuda_driver", info.cuda_driver},
            {"kernel_driver", info.kernel_driver},
            {"vulkan_driver", info.vulkan_driver},
            {"vulkan_api", info.vulkan_api}};
}

std::string describe(DeviceInfo const& info) {
    std::string text =
        fmt::format("{}: {}{}\n", info.selector, info.name, info.emulated ? " [emulated]" : "");
    auto const row = [&](std::string_view name, std::string const& value) {
        if (!value.empty()) text += fmt::format("  {:<24}{}\n", name, value);
    };
    row("uuid", info.uuid);
    row("memory from", std::string(to_string(info.memory_source)));
    row("why host memory", info.why_host_memory);
    row("coherent", info.memory_source == MemorySource::unknown ? ""
                    : info.coherent                             ? "yes"
                                                                : "no: it is flushed");
    for (std::size_t i = 0; i < info.memory_types.size(); ++i) {
        std::string properties;
        for (auto const& each : info.memory_types[i].properties) properties += each + " ";
        row(fmt::format("memory type {}{}", i,
                        static_cast<int>(i) == info.memory_type ? " (used)" : ""),
            fmt::format("{}on heap {}", properties, info.memory_types[i].heap));
    }
    for (std::size_t i = 0; i < info.heaps.size(); ++i) {
        HeapInfo const& heap = info.heaps[i];
        row(fmt::format("heap {}", i),
            fmt::format(
                "{}{}{}{}", gib(heap.size), heap.budget ? ", budget " + gib(*heap.budget) : "",
                heap.device_local ? ", device-local" : "", heap.host_visible ? ", mappable" : ""));
    }
    if (info.bar_size) row("PCI BAR", gib(*info.bar_size));
    if (info.write_ordering) {
        row("write ordering",
            fmt::format("{} (GPU_DIRECT_RDMA_WRITES_ORDERING)", *info.write_ordering));
    }
    if (info.memory_source != MemorySource::unknown) {
        row("data before a message",
            info.data_order == DataOrder::fence
                ? "store fence"
                : "read back: the device may not keep the order of the CPU's writes");
    }
    if (info.compute_capability)
        row("compute capability", fmt::format("{}", *info.compute_capability));
    if (info.multiprocessors) row("multiprocessors", fmt::format("{}", *info.multiprocessors));
    row("PCI bus id", info.pci_bus_id);
    if (!info.store_instruction.empty()) {
        row("stores", fmt::format("{}, {}", info.store_instruction, info.publish_mode));
    }
    row("module loading", info.module_loading);
    row("CUDA driver API", info.cuda_driver);
    row("kernel module", info.kernel_driver);
    row("Vulkan driver", info.vulkan_driver);
    row("Vulkan API", info.vulkan_api);
    return text;
}

json environment(DeviceInfo const& info) {
    json result = to_json(info);
    result["cpu"] = cpu_model();
    result["version"] = version;
    if (*commit != '\0') result["commit"] = commit;
    if (!info.pci_bus_id.empty()) result.update(gpu_state(info.pci_bus_id));
    result["processors"] = cpu::available_processors();
    result["clock"] = "std::chrono::steady_clock";
    result["clock_cost_ns"] = clock_cost_ns();
    result["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    return result;
}

std::string headline(DeviceInfo const& info) {
    if (!info.emulated && info.why_host_memory.empty()) {
        return fmt::format("device: {}\n", info.name);
    }
    if (!info.emulated) {
        return fmt::format("device: {}\nHOST MEMORY: its rings are on this side of the bus: {}\n",
                           info.name, info.why_host_memory);
    }
    return fmt::format(
        "device: {}\nEMULATED: these figures are of threads of this CPU, not of a GPU{}\n",
        info.name, info.why_emulated.empty() ? "" : " (" + info.why_emulated + ")");
}

void write_json(std::string const& path, json const& value) {
    if (path == "-") {
        std::cout << value.dump(2) << '\n';
        return;
    }
    std::ofstream file(path);
    file << value.dump(2) << '\n';
    file.close();
    if (!file) throw SystemError("write " + path, errno);
}

}  // namespace carillon::tool

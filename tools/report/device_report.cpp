// SPDX-License-Identifier: Apache-2.0
#include "report/device_report.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>

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

// Unknown facts have no row.
class Rows {
   public:
    void add(std::string_view name, std::string const& value) {
        if (!value.empty()) text_ += fmt::format("  {:<26}{}\n", name, value);
    }
    [[nodiscard]] std::string const& text() const { return text_; }

   private:
    std::string text_;
};

void add_memory_types(DeviceInfo const& info, Rows& rows) {
    for (std::size_t i = 0; i < info.memory_types.size(); ++i) {
        std::string properties;
        for (auto const& each : info.memory_types[i].properties) properties += each + " ";
        rows.add(fmt::format("memory type {}{}", i,
                             static_cast<int>(i) == info.memory_type ? " (used)" : ""),
                 fmt::format("{}on heap {}", properties, info.memory_types[i].heap));
    }
    for (std::size_t i = 0; i < info.heaps.size(); ++i) {
        HeapInfo const& heap = info.heaps[i];
        rows.add(fmt::format("heap {}", i),
                 fmt::format("{}{}{}{}", gib(heap.size),
                             heap.budget ? ", budget " + gib(*heap.budget) : "",
                             heap.device_local ? ", device-local" : "",
                             heap.host_visible ? ", mappable" : ""));
    }
}

// The memory, and how the CPU's writes reach it.
void add_memory(DeviceInfo const& info, Rows& rows) {
    bool const any = info.memory_source != MemorySource::unknown;
    rows.add("memory from", std::string(to_string(info.memory_source)));
    rows.add("why host memory", info.why_host_memory);
    rows.add("coherent", !any ? "" : info.coherent ? "yes" : "no: the driver flushes each write");
    add_memory_types(info, rows);
    if (info.bar_size) rows.add("PCI BAR", gib(*info.bar_size));
    if (info.write_ordering) {
        rows.add("write ordering",
                 fmt::format("{} (GPU_DIRECT_RDMA_WRITES_ORDERING)", *info.write_ordering));
    }
    if (any) {
        rows.add("data before a message",
                 info.data_order == DataOrder::fence
                     ? "store fence"
                     : "read back: the device may reorder the CPU's writes");
    }
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
            {"sms", or_null(info.sm_count)},
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
    Rows rows;
    rows.add("uuid", info.uuid);
    add_memory(info, rows);
    if (info.compute_capability) {
        rows.add("compute capability", fmt::format("{}", *info.compute_capability));
    }
    if (info.sm_count) {
        rows.add("sms", fmt::format("{}", *info.sm_count));
    }
    rows.add("PCI bus id", info.pci_bus_id);
    if (!info.store_instruction.empty()) {
        rows.add("CPU stores to this device",
                 fmt::format("{}, {}", info.store_instruction, info.publish_mode));
    }
    rows.add("module loading", info.module_loading);
    rows.add("CUDA driver API", info.cuda_driver);
    rows.add("kernel module", info.kernel_driver);
    rows.add("Vulkan driver", info.vulkan_driver);
    rows.add("Vulkan API", info.vulkan_api);
    return fmt::format("{}: {}{}\n{}", info.selector, info.name, info.emulated ? " [emulated]" : "",
                       rows.text());
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// The device as it was opened: a call, its memory, and how the CPU's stores reach it.
#include <fmt/format.h>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject open_subject{"device.open",
                               "Everything begins with Device::open and mapped device memory."};
constexpr Subject call_subject{"device.call",
                               "Carillon sends a command to a running kernel and gets its answer."};
constexpr Subject source_subject{
    "memory.source", "A block polls its rings. Polling is fastest in the GPU's own memory."};
constexpr Subject heap_subject{"memory.heap",
                               "Rings and buffers lie in device memory that the CPU has mapped."};
constexpr Subject bar_subject{"memory.bar",
                              "The PCI BAR limits the memory that all processes together can map."};
constexpr Subject mapping_subject{
    "memory.mapping", "Only write-combining sends a line as one write, and at full speed."};
constexpr Subject order_subject{
    "memory.order", "Data that a message refers to has to be visible before the message."};

constexpr double mib = 1024.0 * 1024.0;

std::string size_text(std::uint64_t bytes) {
    auto const all = static_cast<double>(bytes);
    return all < 1024 * mib ? fmt::format("{:.0f} MiB", all / mib)
                            : fmt::format("{:.1f} GiB", all / mib / 1024);
}

}  // namespace

Finding check_open(Facts const& facts) {
    OpenFacts const& open = facts.open;
    if (open.error.empty()) {
        return open_subject.ok(
            fmt::format("{}{}", open.info.name, open.info.emulated ? ": the emulated device" : ""));
    }
    return open_subject.at(
        Severity::error, open.error,
        fmt::format("fix the errors below, then: carillon info --device {}", facts.selector));
}

Finding check_memory(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    if (info.why_host_memory.empty())
        return source_subject.ok(fmt::format("from {}", to_string(info.memory_source)));
    return source_subject.at(
        Severity::warning, "pinned host memory: " + info.why_host_memory,
        "fix the Vulkan findings below; until then a command takes about one bus "
        "round trip longer");
}

Finding check_call(Facts const& facts) {
    CallFacts const& call = facts.call;
    if (!call.skipped.empty()) {
        return call_subject.at(Severity::note, "not tried: " + call.skipped,
                               "fix the cause, then: carillon doctor");
    }
    if (call.error.empty()) {
        return call_subject.ok(fmt::format("answered, {:.0f} ns at the median", call.p50_ns));
    }
    return call_subject.at(Severity::error, call.error,
                           "update the driver if it is older than the CUDA that this was built "
                           "with; if the kernel hung: nvidia-smi, dmesg | grep -i xid");
}

Finding check_heap(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    constexpr std::uint64_t little = 16U << 20U;
    if (info.memory_type < 0 || info.memory_types.empty()) {
        return heap_subject.ok("not from Vulkan");
    }
    auto const& type = info.memory_types.at(static_cast<std::size_t>(info.memory_type));
    HeapInfo const& heap = info.heaps.at(type.heap);
    std::string const found = fmt::format(
        "memory type {}, heap of {}, {} of it for this process", info.memory_type,
        size_text(heap.size), heap.budget ? size_text(*heap.budget) : "an unknown part");
    if (heap.budget.value_or(heap.size) < little) {
        return heap_subject.at(Severity::warning, found,
                               "end other users of the GPU's memory: nvidia-smi");
    }
    return heap_subject.ok(found);
}

Finding check_bar(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    NvmlFacts const& nvml = facts.nvml;
    constexpr std::uint64_t small = 256U << 20U;
    constexpr std::uint64_t little = 16U << 20U;
    auto const size = info.bar_size ? info.bar_size : nvml.bar_bytes;
    if (!size) return bar_subject.ok("its size is not shown");
    std::string found = size_text(*size);
    if (nvml.bar_free_bytes) found += ", free: " + size_text(*nvml.bar_free_bytes);
    if (nvml.bar_free_bytes.value_or(*size) < little) {
        return bar_subject.at(Severity::warning, found,
                              "end other processes that map the GPU's memory: nvidia-smi");
    }
    if (*size <= small) {
        return bar_subject.at(Severity::note, found + ": enough for rings, not for large buffers",
                              "turn on Above 4G Decoding and Resizable BAR in the firmware");
    }
    return bar_subject.ok(found);
}

Finding check_mapping(Facts const& facts) {
    MappingReport const& mapping = *facts.mapping;
    std::string const times = fmt::format(
        "a load takes {:.0f} ns, eight stores to one line {:.0f}, to eight lines {:.0f}",
        mapping.load_ns, mapping.one_line_ns, mapping.eight_lines_ns);
    switch (mapping.conclusion()) {
        case Mapping::write_combining:
            return mapping_subject.ok("write-combining: " + times);
        case Mapping::cached:
            return mapping_subject.at(Severity::warning, "cached: " + times,
                                      "check the order on this machine: carillon verify");
        default:
            return mapping_subject.at(
                Severity::note, "write-combining or uncached (the times do not tell): " + times,
                "run carillon verify; if the mapping is uncached: in a virtual machine the host "
                "has to "
                "honour the guest's memory types, and the kernel must not run with nopat");
    }
}

Finding check_order(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    std::string const found =
        info.write_ordering
            ? fmt::format("GPU_DIRECT_RDMA_WRITES_ORDERING is {}: {}", *info.write_ordering,
                          info.data_order == DataOrder::fence
                              ? "a store fence is enough"
                              : "the CPU reads back before each message that refers to data")
            : "unknown";
    if (info.data_order == DataOrder::fence) return order_subject.ok(found);
    return order_subject.at(Severity::note, found,
                            "nothing to set; keep payloads in the message (1 KiB) where the "
                            "bus round trip of reading back is too slow");
}

}  // namespace carillon::tool

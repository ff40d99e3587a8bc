// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.hpp"

#include <algorithm>
#include <carillon/device.hpp>
#include <carillon/error.hpp>
#include <optional>
#include <utility>

#include "build_info.hpp"
#include "doctor/checks.hpp"
#include "report/gpu_state.hpp"

#ifndef CARILLON_GPU_MEMORY  // whether the library is built with cuda.h
#define CARILLON_GPU_MEMORY 0
#endif

namespace carillon::tool {
namespace {

// The memory of no other emulated device comes from there.
bool wants_lavapipe(std::string const& selector) { return selector == "emulated:vulkan"; }

// As the other commands open it: a build without kernels for GPUs takes the emulated device
// instead of the best.
Device open_as_others(std::string const& selector) {
    Device device = Device::open(selector);
    if (have_device_code || !device.traits().cuda || selector != "best") return device;
    return Device::open("emulated");
}

std::optional<Device> try_open(std::string const& selector, OpenFacts& facts) {
    try {
        Device device = open_as_others(selector);
        facts.info = device.info();
        return device;
    } catch (UsageError const&) {
        throw;
    } catch (Error const& error) {
        facts.error = error.what();
        facts.info.selector = selector;
        facts.info.name = "not available (" + facts.error + ")";
        facts.info.emulated = !Device::names_gpu(selector);
        return {};
    }
}

// Why a kernel is not to be started; empty if it may.
std::string unsafe(Facts const& facts) {
    if (!facts.open.error.empty()) return "the device was not opened";
    if (facts.open.info.emulated) return {};
    if (!have_device_code) return "this build has no kernels for GPUs";
    bool const blocking =
        check_launch_blocking(facts.driver.variables, Severity::error).severity != Severity::ok;
    return blocking ? "CUDA_LAUNCH_BLOCKING is set" : "";
}

void try_device(Device const& device, Facts& facts) {
    if (device.traits().write_combining) {
        try {
            facts.mapping = try_mapping(device);
        } catch (Error const& error) {
            facts.call.error = error.what();
            return;
        }
    }
    if (facts.call.skipped.empty()) facts.call = try_call(device);
}

Facts read_facts(std::string const& selector) {
    Facts facts;
    facts.selector = selector;
    facts.build = {CARILLON_GPU_MEMORY != 0, have_device_code};
    Variables const variables = read_variables();  // before the library sets some
    std::optional<Device> const device = try_open(selector, facts.open);
    facts.driver.variables = variables;
    facts.call.skipped = unsafe(facts);
    if (device) try_device(*device, facts);
    facts.cpu = read_cpu();
    facts.host = read_host(variables);
    bool const gpu_is_wanted = Device::names_gpu(selector);
    if (gpu_is_wanted || wants_lavapipe(selector)) facts.vulkan = read_vulkan(variables);
    if (!gpu_is_wanted) return facts;
    facts.driver = read_driver(variables);
    if (GpuFacts const* const gpu = chosen_gpu(selector, facts.driver); gpu != nullptr) {
        facts.nvml = read_nvml(gpu->pci_bus_id);
        facts.clocks = gpu_state(gpu->pci_bus_id);
        facts.slot = read_slot(gpu->pci_bus_id);
    }
    return facts;
}

using List = std::vector<Finding>;

void add_driver(Facts const& facts, List& list) {
    Severity const bad = lacking(facts);
    list.push_back(check_build(facts.build, bad));
    for (auto const check :
         {check_kernel_module, check_device_nodes, check_library, check_versions, check_gpus}) {
        list.push_back(check(facts.driver, bad));
    }
    list.push_back(check_module_loading(facts.driver.variables, facts.open.info));
    list.push_back(check_launch_blocking(facts.driver.variables, bad));
    list.push_back(check_connections(facts.driver.variables));
    list.push_back(check_visible_devices(facts.driver.variables));
    list.push_back(check_mps(facts.driver.variables, facts.host));
}

void add_vulkan(Facts const& facts, IcdKind kind, std::string const& uuid, List& list) {
    Severity const bad = lacking(facts);
    list.push_back(check_loader(facts.vulkan, bad));
    list.push_back(check_icds(facts.vulkan, facts.driver, kind, bad));
    if (list.back().severity == Severity::ok) {
        list.push_back(check_icd_libraries(facts.vulkan, facts.driver, kind, bad));
    }
    if (kind == IcdKind::cpu || !uuid.empty()) {
        list.push_back(check_vulkan_device(facts.vulkan, uuid, bad));
    }
}

void add_gpu(Facts const& facts, GpuFacts const& gpu, List& list) {
    Severity const bad = lacking(facts);
    list.push_back(check_compute_mode(gpu, bad));
    bool const opened = facts.open.error.empty() && !facts.open.info.emulated;
    list.push_back(check_mig(facts.nvml, opened, bad));
    list.push_back(check_watchdog(gpu, bad));
    list.push_back(check_persistence(facts.nvml));
    list.push_back(check_clocks(facts.clocks));
    list.push_back(check_link(facts.slot));
    list.push_back(check_near_cores(facts.slot, facts.cpu));
    list.push_back(check_iommu(facts.slot, facts.host));
}

void add_device(Facts const& facts, List& list) {
    list.push_back(check_open(facts.open, facts.selector));
    if (!facts.open.error.empty()) return;
    list.push_back(check_call(facts.call));
    DeviceInfo const& info = facts.open.info;
    if (!info.emulated) list.push_back(check_memory(info));
    if (info.memory_source == MemorySource::vulkan) list.push_back(check_heap(info));
    if (info.emulated || info.memory_source == MemorySource::host) return;
    list.push_back(check_bar(info, facts.nvml));
    if (facts.mapping) list.push_back(check_mapping(*facts.mapping));
    list.push_back(check_order(info));
}

void add_host(Facts const& facts, bool gpu, List& list) {
    list.push_back(check_stores(facts.cpu, gpu));
    for (auto const check : {check_waits, check_governor, check_processors}) {
        list.push_back(check(facts.cpu));
    }
    for (auto const check : {check_huge_pages, check_locked_memory, check_open_files}) {
        list.push_back(check(facts.host));
    }
    list.push_back(check_address_space(facts.host, gpu));
}

}  // namespace

Severity lacking(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    bool const opened = facts.open.error.empty();
    bool const works_without =
        opened && (!info.why_host_memory.empty() || (facts.selector == "best" && info.emulated));
    return works_without ? Severity::warning : Severity::error;
}

std::vector<Finding> diagnose(Facts const& facts) {
    List list;
    GpuFacts const* const gpu = chosen_gpu(facts.selector, facts.driver);
    add_device(facts, list);
    if (Device::names_gpu(facts.selector)) {
        add_driver(facts, list);
        add_vulkan(facts, IcdKind::nvidia, gpu != nullptr ? gpu->uuid : "", list);
        if (gpu != nullptr) add_gpu(facts, *gpu, list);
    } else if (wants_lavapipe(facts.selector)) {
        add_vulkan(facts, IcdKind::cpu, "", list);
    }
    add_host(facts, gpu != nullptr, list);
    return list;
}

std::size_t DoctorReport::count(Severity severity) const {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

DoctorReport run_doctor(std::string const& selector) {
    Facts const facts = read_facts(selector);
    return {selector, facts.open.info, diagnose(facts)};
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Reads all of the facts, opens the device and, where that is safe, calls a kernel there.
#include <carillon/device.hpp>
#include <carillon/error.hpp>
#include <optional>

#include "build_info.hpp"
#include "doctor/checks.hpp"
#include "doctor/facts.hpp"
#include "measure/open.hpp"
#include "report/gpu_state.hpp"

#ifndef CARILLON_GPU_MEMORY  // whether the library is built with cuda.h
#define CARILLON_GPU_MEMORY 0
#endif

namespace carillon::tool {
namespace {

std::optional<Device> try_open(std::string const& selector, OpenFacts& facts) {
    try {
        Device device = open_usable(selector).device;
        facts.info = device.info();
        facts.stack = device.stack();
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
    bool const blocking = check_launch_blocking(facts).severity != Severity::ok;
    return blocking ? "CUDA_LAUNCH_BLOCKING is set" : "";
}

void try_device(Device const& device, Facts& facts) {
    if (device.traits().write_combining) {
        try {
            facts.mapping = measure_mapping(device);
        } catch (Error const& error) {
            facts.call.error = error.what();
            return;
        }
    }
    if (facts.call.skipped.empty()) facts.call = try_call(device);
}

}  // namespace

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
    if (facts.wants_gpu() || facts.wants_lavapipe()) facts.vulkan = read_vulkan(variables);
    if (!facts.wants_gpu()) return facts;
    facts.driver = read_driver(variables);
    if (GpuFacts const* const gpu = facts.gpu(); gpu != nullptr) {
        facts.nvml = read_nvml(gpu->pci_bus_id);
        facts.clocks = gpu_state(gpu->pci_bus_id);
        facts.slot = read_slot(gpu->pci_bus_id);
    }
    return facts;
}

}  // namespace carillon::tool

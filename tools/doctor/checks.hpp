// SPDX-License-Identifier: Apache-2.0
// The checks of `carillon doctor`: what they are given is judged, and nothing is read.
#pragma once

#include <string>
#include <vector>

#include "doctor/doctor.hpp"
#include "doctor/facts.hpp"

namespace carillon::tool {

// One thing that is looked at.
struct Subject {
    char const* id;
    char const* why;

    [[nodiscard]] Finding ok(std::string found) const {
        return {id, Severity::ok, std::move(found), why, {}};
    }
    [[nodiscard]] Finding at(Severity severity, std::string found, std::string fix) const {
        return {id, severity, std::move(found), why, std::move(fix)};
    }
};

// How bad it is when something is not there that a GPU needs: an error where a GPU was asked for
// or found, a warning where "best" does without.
[[nodiscard]] Severity lacking(Facts const& facts);

// All that concern the device that was asked for.
[[nodiscard]] std::vector<Finding> diagnose(Facts const& facts);

[[nodiscard]] Finding check_build(BuildFacts const& build, Severity lacking);
[[nodiscard]] Finding check_kernel_module(DriverFacts const& driver, Severity lacking);
[[nodiscard]] Finding check_device_nodes(DriverFacts const& driver, Severity lacking);
[[nodiscard]] Finding check_library(DriverFacts const& driver, Severity lacking);
[[nodiscard]] Finding check_versions(DriverFacts const& driver, Severity lacking);
[[nodiscard]] Finding check_gpus(DriverFacts const& driver, Severity lacking);

enum class IcdKind : std::uint8_t { nvidia, cpu };
[[nodiscard]] Finding check_loader(VulkanFacts const& vulkan, Severity lacking);
[[nodiscard]] Finding check_icds(VulkanFacts const& vulkan, DriverFacts const& driver, IcdKind kind,
                                 Severity lacking);
[[nodiscard]] Finding check_icd_libraries(VulkanFacts const& vulkan, DriverFacts const& driver,
                                          IcdKind kind, Severity lacking);
// The device with that UUID, or one that is a CPU if it is empty.
[[nodiscard]] Finding check_vulkan_device(VulkanFacts const& vulkan, std::string const& uuid,
                                          Severity lacking);

[[nodiscard]] Finding check_open(OpenFacts const& open, std::string const& selector);
[[nodiscard]] Finding check_call(CallFacts const& call);
[[nodiscard]] Finding check_memory(DeviceInfo const& info);
[[nodiscard]] Finding check_heap(DeviceInfo const& info);
[[nodiscard]] Finding check_bar(DeviceInfo const& info, NvmlFacts const& nvml);
[[nodiscard]] Finding check_mapping(MappingReport const& mapping);
[[nodiscard]] Finding check_order(DeviceInfo const& info);

[[nodiscard]] Finding check_module_loading(Variables const& variables, DeviceInfo const& info);
[[nodiscard]] Finding check_launch_blocking(Variables const& variables, Severity lacking);
[[nodiscard]] Finding check_connections(Variables const& variables);
[[nodiscard]] Finding check_visible_devices(Variables const& variables);

[[nodiscard]] Finding check_compute_mode(GpuFacts const& gpu, Severity lacking);
[[nodiscard]] Finding check_mig(NvmlFacts const& nvml, bool opened, Severity lacking);
[[nodiscard]] Finding check_mps(Variables const& variables, HostFacts const& host);
[[nodiscard]] Finding check_watchdog(GpuFacts const& gpu, Severity lacking);
[[nodiscard]] Finding check_persistence(NvmlFacts const& nvml);
[[nodiscard]] Finding check_clocks(nlohmann::json const& clocks);
[[nodiscard]] Finding check_link(SlotFacts const& slot);
[[nodiscard]] Finding check_near_cores(SlotFacts const& slot, CpuFacts const& cpu);
[[nodiscard]] Finding check_iommu(SlotFacts const& slot, HostFacts const& host);

[[nodiscard]] Finding check_stores(CpuFacts const& cpu, bool gpu);
[[nodiscard]] Finding check_waits(CpuFacts const& cpu);
[[nodiscard]] Finding check_governor(CpuFacts const& cpu);
[[nodiscard]] Finding check_processors(CpuFacts const& cpu);
[[nodiscard]] Finding check_huge_pages(HostFacts const& host);
[[nodiscard]] Finding check_locked_memory(HostFacts const& host);
[[nodiscard]] Finding check_open_files(HostFacts const& host);
[[nodiscard]] Finding check_address_space(HostFacts const& host, bool gpu);

}  // namespace carillon::tool

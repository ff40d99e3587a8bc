// SPDX-License-Identifier: Apache-2.0
// The state of the GPU and its slot.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "carillon/cores.hpp"
#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject mode_subject{"gpu.compute_mode",
                               "The mode limits how many processes may use the GPU."};
constexpr Subject mig_subject{"gpu.mig",
                              "Mapped memory comes from Vulkan, which does not support MIG."};
constexpr Subject watchdog_subject{
    "gpu.watchdog",
    "A GPU with a display has a time limit, after which the driver kills a kernel."};
constexpr Subject persistence_subject{
    "gpu.persistence",
    "Without persistence the driver restarts the GPU after its last user leaves."};
constexpr Subject clocks_subject{"gpu.clocks", "A GPU with idle clocks answers late at first."};
constexpr Subject link_subject{"gpu.pcie_link", "Every command and answer crosses this link once."};
constexpr Subject cores_subject{
    "gpu.near_cores", "A core on another memory node adds a crossing to each command and answer."};
constexpr Subject iommu_subject{"gpu.iommu",
                                "The IOMMU translates the address of each answer to host memory."};

}  // namespace

Finding check_compute_mode(Facts const& facts) {
    GpuFacts const& gpu = *facts.gpu();
    constexpr char const* to_default = "nvidia-smi -c DEFAULT (as root)";
    if (!gpu.compute_mode) return mode_subject.ok("unknown");
    switch (*gpu.compute_mode) {
        case 0:
            return mode_subject.ok("default: any number of processes");
        case 2:
            return mode_subject.at(lacking(facts), "prohibited: no process may use the GPU",
                                   to_default);
        default:
            return mode_subject.at(Severity::note,
                                   "exclusive: one process only; the next one is refused",
                                   fmt::format("for several processes: {}", to_default));
    }
}

Finding check_mig(Facts const& facts) {
    NvmlFacts const& nvml = facts.nvml;
    bool const opened = facts.open.error.empty() && !facts.open.info.emulated;
    if (!nvml.mig) return mig_subject.ok("unknown, or unsupported by this GPU");
    if (!*nvml.mig) return mig_subject.ok("off");
    return mig_subject.at(opened ? Severity::note : lacking(facts), "on",
                          "nvidia-smi -mig 0 (as root; ends what runs on the GPU)");
}

Finding check_watchdog(Facts const& facts) {
    GpuFacts const& gpu = *facts.gpu();
    if (!gpu.run_time_limit) return watchdog_subject.ok("unknown");
    if (*gpu.run_time_limit == 0) return watchdog_subject.ok("no time limit on kernels");
    return watchdog_subject.at(
        lacking(facts), "kernels on this GPU have a time limit, of some seconds",
        "move the display to another GPU or stop it (systemctl isolate multi-user.target), or set "
        "Option \"Interactive\" \"0\" in the Device section of xorg.conf");
}

Finding check_persistence(Facts const& facts) {
    NvmlFacts const& nvml = facts.nvml;
    if (!nvml.persistence) return persistence_subject.ok("unknown");
    if (*nvml.persistence) return persistence_subject.ok("on");
    return persistence_subject.at(Severity::note, "off",
                                  "nvidia-smi -pm 1 (as root), or run nvidia-persistenced");
}

Finding check_clocks(Facts const& facts) {
    nlohmann::json const& clocks = facts.clocks;
    constexpr double near = 0.9;
    int const now = clocks.value("gpu_clock_mhz", 0);
    int const most = clocks.value("gpu_clock_max_mhz", 0);
    if (now == 0 || most == 0) return clocks_subject.ok("unknown: there is no nvidia-smi");
    std::string const found = fmt::format("{} MHz now, {} at most", now, most);
    if (now >= near * most) return clocks_subject.ok(found);
    return clocks_subject.at(Severity::note, found,
                             fmt::format("to lock them: nvidia-smi -lgc {} (as root; -rgc undoes "
                                         "it)",
                                         most));
}

Finding check_link(Facts const& facts) {
    SlotFacts const& slot = facts.slot;
    if (slot.link_width == 0 || slot.link_width_max == 0) return link_subject.ok("not shown here");
    std::string const found =
        fmt::format("{} x{} now, {} x{} at most", slot.link_speed, slot.link_width,
                    slot.link_speed_max, slot.link_width_max);
    if (slot.link_width < slot.link_width_max) {
        return link_subject.at(Severity::warning, found,
                               "seat the card in a slot with all lanes, without a riser; the "
                               "firmware may split a slot's lanes (bifurcation)");
    }
    if (std::atof(slot.link_speed.c_str()) < std::atof(slot.link_speed_max.c_str())) {
        return link_subject.at(Severity::note, found,
                               "a link slows down while idle: look again while carillon rtt runs; "
                               "if it stays, set the slot's generation in the firmware");
    }
    return link_subject.ok(found);
}

Finding check_near_cores(Facts const& facts) {
    SlotFacts const& slot = facts.slot;
    CpuFacts const& cpu = facts.cpu;
    if (slot.local_cores.empty()) return cores_subject.ok("the slot's memory node is not shown");
    std::vector<unsigned> near;
    std::ranges::set_intersection(cpu.allowed, slot.local_cores, std::back_inserter(near));
    std::string const found =
        fmt::format("{} of the {} cores that this process may run on are near the GPU (node {})",
                    near.size(), cpu.allowed.size(), slot.memory_node);
    if (near.size() == cpu.allowed.size()) return cores_subject.ok(found);
    std::vector<unsigned> const& wanted = near.empty() ? slot.local_cores : near;
    return cores_subject.at(
        near.empty() ? Severity::warning : Severity::note, found,
        fmt::format("taskset -c {} <program>, or OnCore with one of cores_near()",
                    fmt::join(wanted, ",")));
}

Finding check_iommu(Facts const& facts) {
    SlotFacts const& slot = facts.slot;
    HostFacts const& host = facts.host;
    if (host.iommu_groups == 0) return iommu_subject.ok("off, or not shown here");
    std::string const found = fmt::format("{} groups, the GPU's is {}", host.iommu_groups,
                                          slot.iommu_type.empty() ? "not shown" : slot.iommu_type);
    if (slot.iommu_type.empty() || slot.iommu_type == "identity") return iommu_subject.ok(found);
    if (host.line_of("/proc/cmdline").find("iommu=pt") != std::string::npos) {
        return iommu_subject.at(Severity::note, found + ", though the kernel has iommu=pt",
                                "the device may not be trusted: check the firmware's DMA settings");
    }
    return iommu_subject.at(Severity::note, found,
                            "boot the kernel with iommu=pt (where nothing needs the translation)");
}

}  // namespace carillon::tool

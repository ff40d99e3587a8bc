// SPDX-License-Identifier: Apache-2.0
// How the driver was told to treat kernels, and the state of the GPU and its slot.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject loading_subject{
    "cuda.module_loading",
    "Loaded lazily, the first launch of another kernel waits until the persistent one ends."};
constexpr Subject blocking_subject{
    "cuda.launch_blocking",
    "A launch that waits for its kernel never returns if the kernel never ends."};
constexpr Subject connections_subject{
    "cuda.max_connections",
    "Streams that share a hardware queue with the persistent kernel's wait behind it."};
constexpr Subject visible_subject{"cuda.visible_devices",
                                  "CUDA counts only the GPUs that this variable names."};
constexpr Subject mode_subject{"gpu.compute_mode",
                               "It says whether a process may have a context here, and how many."};
constexpr Subject mig_subject{
    "gpu.mig", "Vulkan, which the mapped memory comes from, does not serve a GPU's MIG parts."};
constexpr Subject mps_subject{
    "gpu.mps", "Under MPS the clients share the GPU at once, and one that faults ends all."};
constexpr Subject watchdog_subject{
    "gpu.watchdog",
    "A GPU with a display has a time limit, after which the driver kills a kernel."};
constexpr Subject persistence_subject{
    "gpu.persistence", "Without it the driver starts the GPU anew each time its last user leaves."};
constexpr Subject clocks_subject{"gpu.clocks",
                                 "A GPU that starts from idle clocks answers late at first."};
constexpr Subject link_subject{"gpu.pcie_link", "Every command and answer crosses this link once."};
constexpr Subject cores_subject{
    "gpu.near_cores", "A core on another memory node adds a crossing to each command and answer."};
constexpr Subject iommu_subject{"gpu.iommu",
                                "Address translation is on the way of each answer to host memory."};

std::string value_of(Variables const& variables, std::string const& name) {
    auto const found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
}

}  // namespace

Finding check_module_loading(Variables const& variables, DeviceInfo const& info) {
    std::string const variable = value_of(variables, "CUDA_MODULE_LOADING");
    std::string const found =
        fmt::format("{}CUDA_MODULE_LOADING {}",
                    info.module_loading.empty() ? "" : info.module_loading + " is in force, ",
                    variable.empty() ? "unset" : "= " + variable);
    if (info.module_loading == "lazy" || (info.module_loading.empty() && variable == "LAZY")) {
        return loading_subject.at(
            Severity::warning, found,
            "export CUDA_MODULE_LOADING=EAGER, or unset it: Carillon sets it");
    }
    return loading_subject.ok(found);
}

Finding check_launch_blocking(Variables const& variables, Severity lacking) {
    std::string const variable = value_of(variables, "CUDA_LAUNCH_BLOCKING");
    if (variable.empty() || variable == "0") return blocking_subject.ok("not set");
    return blocking_subject.at(lacking, "CUDA_LAUNCH_BLOCKING = " + variable,
                               "unset CUDA_LAUNCH_BLOCKING");
}

Finding check_connections(Variables const& variables) {
    constexpr int driver_default = 8;
    std::string const variable = value_of(variables, "CUDA_DEVICE_MAX_CONNECTIONS");
    if (variable.empty()) return connections_subject.ok("not set: the driver takes 8");
    std::string const found = "CUDA_DEVICE_MAX_CONNECTIONS = " + variable;
    if (std::atoi(variable.c_str()) >= driver_default) return connections_subject.ok(found);
    return connections_subject.at(Severity::warning, found,
                                  "unset CUDA_DEVICE_MAX_CONNECTIONS, or export "
                                  "CUDA_DEVICE_MAX_CONNECTIONS=32");
}

Finding check_visible_devices(Variables const& variables) {
    if (!variables.contains("CUDA_VISIBLE_DEVICES")) return visible_subject.ok("not set: all");
    return visible_subject.at(
        Severity::note,
        fmt::format("CUDA_VISIBLE_DEVICES = \"{}\"", value_of(variables, "CUDA_VISIBLE_DEVICES")),
        "unset CUDA_VISIBLE_DEVICES if a GPU is missing; --device GPU-<uuid> names one whatever "
        "the order");
}

Finding check_compute_mode(GpuFacts const& gpu, Severity lacking) {
    constexpr char const* to_default = "nvidia-smi -c DEFAULT (as root)";
    if (!gpu.compute_mode) return mode_subject.ok("not told");
    switch (*gpu.compute_mode) {
        case 0:
            return mode_subject.ok("default: any number of processes");
        case 2:
            return mode_subject.at(lacking, "prohibited: no process may use the GPU", to_default);
        default:
            return mode_subject.at(
                Severity::note,
                "exclusive: one process only, without time slices of others; the next is refused",
                fmt::format("for several processes: {}", to_default));
    }
}

Finding check_mig(NvmlFacts const& nvml, bool opened, Severity lacking) {
    if (!nvml.mig) return mig_subject.ok("not told, or not known to this GPU");
    if (!*nvml.mig) return mig_subject.ok("off");
    return mig_subject.at(opened ? Severity::note : lacking, "on",
                          "nvidia-smi -mig 0 (as root; ends what runs on the GPU)");
}

Finding check_mps(Variables const& variables, HostFacts const& host) {
    std::string const folder = value_of(variables, "CUDA_MPS_PIPE_DIRECTORY");
    if (!host.mps_control) {
        if (folder.empty()) return mps_subject.ok("no control daemon");
        return mps_subject.at(Severity::note,
                              fmt::format("CUDA_MPS_PIPE_DIRECTORY = {}, but no control daemon is "
                                          "there",
                                          folder),
                              "unset CUDA_MPS_PIPE_DIRECTORY, or: nvidia-cuda-mps-control -d");
    }
    return mps_subject.at(Severity::note, "a control daemon's pipe is there",
                          "to end MPS: echo quit | nvidia-cuda-mps-control");
}

Finding check_watchdog(GpuFacts const& gpu, Severity lacking) {
    if (!gpu.run_time_limit) return watchdog_subject.ok("not told");
    if (*gpu.run_time_limit == 0) return watchdog_subject.ok("no time limit on kernels");
    return watchdog_subject.at(
        lacking, "kernels on this GPU have a time limit, of some seconds",
        "move the display to another GPU or stop it (systemctl isolate multi-user.target), or set "
        "Option \"Interactive\" \"0\" in the Device section of xorg.conf");
}

Finding check_persistence(NvmlFacts const& nvml) {
    if (!nvml.persistence) return persistence_subject.ok("not told");
    if (*nvml.persistence) return persistence_subject.ok("on");
    return persistence_subject.at(Severity::note, "off",
                                  "nvidia-smi -pm 1 (as root), or run nvidia-persistenced");
}

Finding check_clocks(nlohmann::json const& clocks) {
    constexpr double near = 0.9;
    int const now = clocks.value("gpu_clock_mhz", 0);
    int const most = clocks.value("gpu_clock_max_mhz", 0);
    if (now == 0 || most == 0) return clocks_subject.ok("not told: nvidia-smi is not there");
    std::string const found = fmt::format("{} MHz now, {} at most", now, most);
    if (now >= near * most) return clocks_subject.ok(found);
    return clocks_subject.at(Severity::note, found,
                             fmt::format("to lock them: nvidia-smi -lgc {} (as root; -rgc undoes "
                                         "it)",
                                         most));
}

Finding check_link(SlotFacts const& slot) {
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
                               "a link slows down while idle: look again while carillon rate runs; "
                               "if it stays, set the slot's generation in the firmware");
    }
    return link_subject.ok(found);
}

Finding check_near_cores(SlotFacts const& slot, CpuFacts const& cpu) {
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

Finding check_iommu(SlotFacts const& slot, HostFacts const& host) {
    if (host.iommu_groups == 0) return iommu_subject.ok("off, or not shown here");
    std::string const found = fmt::format("{} groups, the GPU's is {}", host.iommu_groups,
                                          slot.iommu_type.empty() ? "not shown" : slot.iommu_type);
    if (slot.iommu_type.empty() || slot.iommu_type == "identity") return iommu_subject.ok(found);
    if (host.kernel_arguments.find("iommu=pt") != std::string::npos) {
        return iommu_subject.at(Severity::note, found + ", though the kernel has iommu=pt",
                                "the device may not be trusted: check the firmware's DMA settings");
    }
    return iommu_subject.at(Severity::note, found,
                            "boot the kernel with iommu=pt (where nothing needs the translation)");
}

}  // namespace carillon::tool

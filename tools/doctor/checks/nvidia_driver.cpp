// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver: the kernel's part, the device nodes and the library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject build_subject{
    "build.cuda",
    "Only a build with CUDA opens GPUs, and only one with nvcc has kernels for them."};
constexpr Subject module_subject{"driver.kernel_module",
                                 "Without NVIDIA's kernel module no program reaches the GPU."};
constexpr Subject nodes_subject{
    "driver.device_nodes",
    "The driver's library talks to the kernel through /dev/nvidiactl, /dev/nvidia-uvm and "
    "/dev/nvidia<N>."};
constexpr Subject library_subject{"driver.library",
                                  "libcuda.so.1 starts kernels and imports the mapped memory."};
constexpr Subject versions_subject{
    "driver.versions", "Kernel module and library refuse each other unless their versions match."};
constexpr Subject gpus_subject{"driver.gpus", "The persistent kernel needs a GPU to run on."};

constexpr char const* run_container =
    "start the container with: docker run --gpus all -e "
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics ... (the host needs the driver and "
    "nvidia-container-toolkit)";

bool has_node(DriverFacts const& driver, std::string_view name) {
    return std::ranges::find(driver.nodes, name) != driver.nodes.end();
}

// How to make a loaded driver see the GPUs.
std::string no_gpu_fix(DriverFacts const& driver) {
    if (driver.variables.contains("CUDA_VISIBLE_DEVICES")) return "unset CUDA_VISIBLE_DEVICES";
    if (driver.init_error == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") {
        return "make the versions match: see driver.versions";
    }
    if (driver.container) return run_container;
    return "for details: nvidia-smi; dmesg | grep -i nvrm";
}

}  // namespace

Finding check_build(Facts const& facts) {
    BuildFacts const& build = facts.build;
    auto const& subject = build_subject;
    if (!build.gpu_memory) {
        return subject.at(lacking(facts), "this build of Carillon has no CUDA support",
                          "scripts/setup --cuda, then: cmake --preset release && cmake --build "
                          "--preset release");
    }
    if (!build.device_code) {
        return subject.at(lacking(facts), "this build has no kernels for GPUs: there was no nvcc",
                          "scripts/setup --cuda (or CUDA 12.4 or later), then: cmake --preset "
                          "release && cmake --build --preset release");
    }
    return subject.ok("built with nvcc");
}

Finding check_kernel_module(Facts const& facts) {
    DriverFacts const& driver = facts.driver;
    auto const& subject = module_subject;
    if (!driver.kernel_module.empty()) return subject.ok("version " + driver.kernel_module);
    if (!driver.gpus.empty()) return subject.ok("its version is not shown here, but CUDA works");
    if (driver.container) {
        return subject.at(lacking(facts), "this container shows no NVIDIA kernel module",
                          run_container);
    }
    if (driver.pci_gpus.empty()) {
        return subject.at(lacking(facts), "not loaded, and no NVIDIA GPU is on the PCI bus",
                          "use a machine with an NVIDIA GPU, or: --device emulated");
    }
    return subject.at(
        lacking(facts),
        fmt::format("not loaded, but there is a GPU at {}", driver.pci_gpus.front()),
        "modprobe nvidia, or install the driver, 550 or later (Debian: apt-get install "
        "nvidia-driver; Ubuntu: ubuntu-drivers install)");
}

Finding check_device_nodes(Facts const& facts) {
    DriverFacts const& driver = facts.driver;
    auto const& subject = nodes_subject;
    std::vector<std::string> missing;
    for (std::string const name : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
        if (!has_node(driver, name)) missing.push_back(name);
    }
    bool const any_gpu = std::ranges::any_of(driver.nodes, [](std::string const& node) {
        constexpr std::string_view prefix = "/dev/nvidia";
        return node.size() > prefix.size() && node[prefix.size()] >= '0' &&
               node[prefix.size()] <= '9';
    });
    if (!any_gpu) missing.emplace_back("/dev/nvidia<N>");
    if (missing.empty()) return subject.ok(fmt::format("{}", fmt::join(driver.nodes, " ")));
    std::string const found = fmt::format("missing: {}", fmt::join(missing, " "));
    if (!driver.gpus.empty()) return subject.ok(found + ", but CUDA works");
    return subject.at(lacking(facts), found,
                      driver.container ? run_container
                                       : "nvidia-modprobe -c 0 -u, once the kernel module is "
                                         "loaded (as root)");
}

Finding check_library(Facts const& facts) {
    DriverFacts const& driver = facts.driver;
    auto const& subject = library_subject;
    constexpr int eager_loading = 12040;  // from this version on it can be requested and read
    if (!driver.library_error.empty()) {
        auto const wanted = driver.variables.find("NVIDIA_DRIVER_CAPABILITIES");
        std::string const given = wanted == driver.variables.end() ? "unset" : wanted->second;
        return subject.at(
            lacking(facts), driver.library_error,
            driver.container
                ? fmt::format("NVIDIA_DRIVER_CAPABILITIES is {}, and needs compute: {}", given,
                              run_container)
                : "install it (Debian: apt-get install libcuda1; elsewhere it comes with the "
                  "driver)");
    }
    std::string const found = fmt::format(
        "libcuda {}, CUDA {}.{}", driver.library_version.empty() ? "?" : driver.library_version,
        driver.api_version / 1000, driver.api_version % 1000 / 10);
    if (driver.api_version != 0 && driver.api_version < eager_loading) {
        return subject.at(Severity::warning, found + ": older than 12.4",
                          "install driver 550 or later");
    }
    return subject.ok(found);
}

Finding check_versions(Facts const& facts) {
    DriverFacts const& driver = facts.driver;
    auto const& subject = versions_subject;
    bool const refused = driver.init_error == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    if (driver.kernel_module.empty() || driver.library_version.empty()) {
        if (!refused) return subject.ok("one of the two is not known");
    } else if (driver.kernel_module == driver.library_version) {
        return subject.ok("both " + driver.kernel_module);
    }
    std::string const found =
        fmt::format("kernel module {}, library {}", driver.kernel_module, driver.library_version);
    if (!refused && driver.init_error.empty()) {
        return subject.at(Severity::note, found + ": the library works all the same",
                          "none if it is CUDA's compatibility package, else: reboot");
    }
    return subject.at(lacking(facts), found,
                      driver.container
                          ? "restart the container: the host's driver has changed"
                          : "reboot, or end all users of the GPU, then (as root): rmmod nvidia_uvm "
                            "nvidia_drm nvidia_modeset nvidia; modprobe nvidia");
}

Finding check_gpus(Facts const& facts) {
    DriverFacts const& driver = facts.driver;
    auto const& subject = gpus_subject;
    if (!driver.gpus.empty()) {
        std::vector<std::string> names;
        for (GpuFacts const& gpu : driver.gpus) {
            names.push_back(fmt::format("{} ({}, {})", gpu.name, gpu.pci_bus_id, gpu.uuid));
        }
        return subject.ok(fmt::format("{}", fmt::join(names, "; ")));
    }
    if (!driver.library_error.empty()) {
        return subject.at(lacking(facts), "unknown: there is no driver",
                          "see driver.library and driver.kernel_module");
    }
    std::string found = "CUDA sees none";
    if (!driver.init_error.empty()) found += ": cuInit says " + driver.init_error;
    auto const visible = driver.variables.find("CUDA_VISIBLE_DEVICES");
    if (visible != driver.variables.end()) {
        found += fmt::format(", and CUDA_VISIBLE_DEVICES is \"{}\"", visible->second);
    }
    return subject.at(lacking(facts), found, no_gpu_fix(driver));
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Vulkan: the loader, the drivers that its files name (ICDs), and the device among theirs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject loader_subject{
    "vulkan.loader", "The memory that both CPU and GPU address is allocated through Vulkan."};
constexpr Subject icd_subject{
    "vulkan.icd", "The loader finds a Vulkan driver only through a JSON file that names it."};
constexpr Subject icd_library_subject{
    "vulkan.icd_library",
    "The loader skips a driver if its library, or a library that it needs, is missing."};
constexpr Subject device_subject{"vulkan.device",
                                 "Memory must come from the device on which the kernel runs."};

constexpr char const* graphics_capability =
    "start the container with: docker run --gpus all -e "
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics ...";
// For images with the driver's libraries but without its file.
constexpr char const* own_icd =
    "echo '{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": "
    "\"libEGL_nvidia.so.0\", \"api_version\": \"1.3.0\"}}' > nvidia_icd.json; export "
    "VK_DRIVER_FILES=$PWD/nvidia_icd.json";

enum class IcdKind : std::uint8_t { nvidia, cpu };

IcdKind wanted_kind(Facts const& facts) {
    return facts.wants_gpu() ? IcdKind::nvidia : IcdKind::cpu;
}

bool is_of(IcdFile const& icd, IcdKind kind) {
    auto const holds = [&](std::string_view part) {
        return icd.path.find(part) != std::string::npos ||
               icd.library.find(part) != std::string::npos;
    };
    return kind == IcdKind::nvidia ? holds("nvidia")
                                   : holds("lvp") || holds("lavapipe") || holds("swiftshader");
}

std::string capabilities(DriverFacts const& driver) {
    auto const found = driver.variables.find("NVIDIA_DRIVER_CAPABILITIES");
    return found == driver.variables.end() ? "unset" : found->second;
}

std::string no_icd_fix(VulkanFacts const& vulkan, DriverFacts const& driver, IcdKind kind) {
    if (!vulkan.variable.empty()) return "unset " + vulkan.variable;
    if (kind == IcdKind::cpu) return "apt-get install mesa-vulkan-drivers";
    if (vulkan.egl_error.empty()) return own_icd;
    if (driver.container) {
        return fmt::format("NVIDIA_DRIVER_CAPABILITIES is {}, and needs graphics: {}",
                           capabilities(driver), graphics_capability);
    }
    return "install the driver's Vulkan part (Debian: apt-get install nvidia-vulkan-icd; Ubuntu: "
           "apt-get install libnvidia-gl-<version of the driver>)";
}

std::string listed(std::vector<IcdFile> const& icds) {
    std::vector<std::string> paths;
    paths.reserve(icds.size());
    for (IcdFile const& icd : icds) paths.push_back(icd.path);
    return fmt::format("{}", fmt::join(paths, " "));
}

// A file that a variable names but that cannot be read.
IcdFile const* unreadable(VulkanFacts const& vulkan) {
    auto const found = std::ranges::find_if(
        vulkan.icds, [](IcdFile const& icd) { return icd.library.empty() && !icd.error.empty(); });
    return found == vulkan.icds.end() ? nullptr : &*found;
}

}  // namespace

Finding check_loader(Facts const& facts) {
    VulkanFacts const& vulkan = facts.vulkan;
    if (vulkan.loader_error.empty()) return loader_subject.ok("libvulkan.so.1 is there");
    return loader_subject.at(lacking(facts), vulkan.loader_error, "apt-get install libvulkan1");
}

Finding check_icds(Facts const& facts) {
    VulkanFacts const& vulkan = facts.vulkan;
    DriverFacts const& driver = facts.driver;
    IcdKind const kind = wanted_kind(facts);
    auto const& subject = icd_subject;
    bool const there = std::ranges::any_of(
        vulkan.icds, [&](IcdFile const& icd) { return is_of(icd, kind) && !icd.library.empty(); });
    if (there) return subject.ok(listed(vulkan.icds));
    std::string const wanted = kind == IcdKind::nvidia ? "NVIDIA's" : "one that runs on the CPU";
    std::string found = "no Vulkan driver (ICD) file was found";
    if (!vulkan.icds.empty()) {
        found = fmt::format("no Vulkan driver (ICD) file is {}: {}", wanted, listed(vulkan.icds));
    }
    if (!vulkan.variable.empty()) found += fmt::format(" (from {})", vulkan.variable);
    if (IcdFile const* const icd = unreadable(vulkan); icd != nullptr) {
        found += fmt::format("; {}: {}", icd->path, icd->error);
    }
    return subject.at(lacking(facts), found, no_icd_fix(vulkan, driver, kind));
}

Finding check_icd_libraries(Facts const& facts) {
    VulkanFacts const& vulkan = facts.vulkan;
    DriverFacts const& driver = facts.driver;
    IcdKind const kind = wanted_kind(facts);
    auto const& subject = icd_library_subject;
    IcdFile const* broken = nullptr;
    for (IcdFile const& icd : vulkan.icds) {
        if (!is_of(icd, kind) || icd.library.empty()) continue;
        if (icd.error.empty()) return subject.ok(icd.library);
        broken = &icd;
    }
    if (broken == nullptr) return subject.at(lacking(facts), "no driver to load", "see vulkan.icd");
    std::string const found =
        fmt::format("{} cannot be loaded: {}", broken->library, broken->error);
    if (kind == IcdKind::cpu) {
        return subject.at(lacking(facts), found, "apt-get install --reinstall mesa-vulkan-drivers");
    }
    if (broken->error.find("libX") != std::string::npos) {
        return subject.at(lacking(facts), found, "apt-get install libxext6");
    }
    if (vulkan.egl_error.empty()) return subject.at(lacking(facts), found, own_icd);
    if (driver.container) {
        return subject.at(
            lacking(facts),
            fmt::format("{}; NVIDIA_DRIVER_CAPABILITIES is {}", found, capabilities(driver)),
            graphics_capability);
    }
    return subject.at(lacking(facts), found,
                      "install the driver's graphics libraries (Debian: apt-get install "
                      "nvidia-vulkan-icd; Ubuntu: apt-get install libnvidia-gl-<version>)");
}

Finding check_vulkan_device(Facts const& facts) {
    VulkanFacts const& vulkan = facts.vulkan;
    std::string const uuid = facts.wants_gpu() ? facts.gpu()->uuid : "";
    auto const& subject = device_subject;
    std::string const wanted = uuid.empty() ? "that is a CPU" : "with the UUID " + uuid;
    std::vector<std::string> seen;
    for (VulkanGpu const& each : vulkan.devices) {
        bool const match = uuid.empty() ? each.cpu : each.uuid == uuid;
        if (match && each.mappable) return subject.ok(each.name);
        if (match) {
            return subject.at(lacking(facts),
                              each.name + " has no device-local memory that can be mapped",
                              "turn on Above 4G Decoding and Resizable BAR in the firmware");
        }
        seen.push_back(fmt::format("{} ({})", each.name, each.uuid));
    }
    std::string found = fmt::format("no Vulkan device {}", wanted);
    if (!seen.empty()) found += fmt::format("; there are: {}", fmt::join(seen, ", "));
    if (!vulkan.instance_error.empty()) found += ": " + vulkan.instance_error;
    return subject.at(lacking(facts), found,
                      "see vulkan.icd and vulkan.icd_library; the loader tells its steps with "
                      "VK_LOADER_DEBUG=error,driver carillon info");
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Reads the drivers that Vulkan's loader knows, and the devices that it shows.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#define VK_NO_PROTOTYPES
#define VULKAN_HPP_DISPATCH_LOADER_DYNAMIC 1
#include <vulkan/vulkan_raii.hpp>

#include "doctor/facts.hpp"

namespace carillon::tool {
namespace {

namespace fs = std::filesystem;

std::string load_error(std::string const& library) {
    void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    return handle == nullptr ? ::dlerror() : std::string();  // the loader loads it too
}

std::vector<std::string> split(std::string const& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ':');) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

std::string value_or(Variables const& variables, std::string const& name,
                     std::string const& other) {
    auto const found = variables.find(name);
    return found == variables.end() || found->second.empty() ? other : found->second;
}

// The folder's JSON files, or the file itself.
void append(std::vector<std::string>& paths, std::string const& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        paths.push_back(path);
        return;
    }
    auto const first = static_cast<std::ptrdiff_t>(paths.size());
    for (auto const& each : fs::directory_iterator(path, error)) {
        if (each.path().extension() == ".json") paths.push_back(each.path().string());
    }
    std::sort(paths.begin() + first, paths.end());
}

std::vector<std::string> icd_folders(Variables const& variables) {
    std::string const home = value_or(variables, "HOME", "");
    std::vector<std::string> roots =
        split(value_or(variables, "XDG_CONFIG_HOME", home + "/.config"));
    auto const add = [&](std::string const& list) {
        for (std::string& each : split(list)) roots.push_back(std::move(each));
    };
    add(value_or(variables, "XDG_CONFIG_DIRS", "/etc/xdg"));
    add("/usr/local/etc:/etc");
    add(value_or(variables, "XDG_DATA_HOME", home + "/.local/share"));
    add(value_or(variables, "XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
    std::vector<std::string> folders;
    folders.reserve(roots.size());
    for (std::string const& root : roots) folders.push_back(root + "/vulkan/icd.d");
    return folders;
}

// The variable that names the files instead of the folders; the loader prefers the first.
std::string naming_variable(Variables const& variables) {
    for (char const* const name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
        if (!value_or(variables, name, "").empty()) return name;
    }
    return {};
}

IcdFile try_icd(std::string const& path) {
    IcdFile icd = parse_icd(path);
    if (!icd.error.empty()) return icd;
    // A path in it is relative to the file; a name alone is searched for.
    bool const name_alone = icd.library.find('/') == std::string::npos;
    fs::path const library = fs::path(path).parent_path() / icd.library;
    icd.error = load_error(name_alone ? icd.library : library.string());
    return icd;
}

std::string uuid_text(vk::raii::PhysicalDevice const& device) {
    auto const chain =
        device.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceIDProperties>();
    auto const& bytes = chain.get<vk::PhysicalDeviceIDProperties>().deviceUUID;
    std::string text = "GPU-";
    for (std::size_t i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", bytes.at(i));
    }
    return text;
}

bool has_mappable_memory(vk::raii::PhysicalDevice const& device) {
    auto const wanted =
        vk::MemoryPropertyFlagBits::eDeviceLocal | vk::MemoryPropertyFlagBits::eHostVisible;
    auto const memory = device.getMemoryProperties();
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        if ((memory.memoryTypes.at(i).propertyFlags & wanted) == wanted) return true;
    }
    return false;
}

void read_devices(VulkanFacts& facts) try {
    vk::raii::Context const context;
    vk::ApplicationInfo const application("carillon", 1, nullptr, 0, VK_API_VERSION_1_1);
    vk::InstanceCreateInfo info;
    info.pApplicationInfo = &application;
    vk::raii::Instance const instance = context.createInstance(info);
    for (auto const& device : vk::raii::PhysicalDevices(instance)) {
        auto const properties = device.getProperties();
        if (properties.apiVersion < VK_API_VERSION_1_1) continue;
        facts.devices.push_back({properties.deviceName.data(), uuid_text(device),
                                 properties.deviceType == vk::PhysicalDeviceType::eCpu,
                                 has_mappable_memory(device)});
    }
} catch (std::exception const& error) {
    facts.instance_error = error.what();
}

}  // namespace

IcdFile parse_icd(std::string const& path) {
    IcdFile icd{path, {}, {}};
    std::ifstream file(path);
    if (!file) {
        icd.error = "there is no such file, or it cannot be read";
        return icd;
    }
    auto const json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_object() && json.contains("ICD") && json["ICD"].is_object()) {
        auto const& library = json["ICD"]["library_path"];
        if (library.is_string()) icd.library = library.get<std::string>();
    }
    if (icd.library.empty()) icd.error = "it names no library (ICD.library_path)";
    return icd;
}

std::vector<std::string> icd_paths(Variables const& variables) {
    std::vector<std::string> paths;
    for (auto const& each : split(value_or(variables, "VK_ADD_DRIVER_FILES", ""))) {
        append(paths, each);
    }
    if (std::string const name = naming_variable(variables); !name.empty()) {
        paths.clear();  // the loader takes these alone
        for (auto const& each : split(variables.at(name))) append(paths, each);
        return paths;
    }
    std::error_code error;
    for (auto const& folder : icd_folders(variables)) {
        if (fs::is_directory(folder, error)) append(paths, folder);
    }
    return paths;
}

VulkanFacts read_vulkan(Variables const& variables) {
    VulkanFacts facts;
    facts.loader_error = load_error("libvulkan.so.1");
    facts.variable = naming_variable(variables);
    for (auto const& path : icd_paths(variables)) facts.icds.push_back(try_icd(path));
    facts.egl_error = load_error("libEGL_nvidia.so.0");
    if (facts.loader_error.empty()) read_devices(facts);
    return facts;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Reads the system's facts about CPU, slot and limits.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <carillon/detail/access/host_near_far.hpp>
#include <carillon/detail/machine/pause.hpp>
#include <carillon/placement.hpp>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "carillon/cores.hpp"
#include "doctor/facts.hpp"
#include "report/first_line.hpp"

namespace carillon::tool {
namespace {

namespace fs = std::filesystem;

int number_in(std::string const& path, int other) {
    std::string const text = first_line_of_file(path);
    int value = other;
    (void)std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::map<int, std::uint64_t> soft_limits() {
    std::map<int, std::uint64_t> limits;
    for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
        rlimit limit{};
        auto const which = static_cast<decltype(RLIMIT_AS)>(resource);
        if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
        limits.emplace(resource, limit.rlim_cur);
    }
    return limits;
}

std::size_t entries(char const* folder) {
    std::error_code error;
    fs::directory_iterator const first(folder, error);
    return static_cast<std::size_t>(std::distance(first, fs::directory_iterator()));
}

std::vector<std::string> governors(std::vector<unsigned> const& cores) {
    std::vector<std::string> found;
    for (unsigned const core : cores) {
        std::string const each = first_line_of_file(
            "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor");
        if (!each.empty() && std::ranges::find(found, each) == found.end()) found.push_back(each);
    }
    return found;
}

}  // namespace

std::vector<unsigned> parse_cores(std::string_view text) {
    constexpr unsigned most = 1U << 16U;
    std::vector<unsigned> cores;
    std::istringstream parts{std::string(text)};
    for (std::string part; std::getline(parts, part, ',');) {
        char const* const end = part.data() + part.size();
        unsigned first = 0;
        auto [next, error] = std::from_chars(part.data(), end, first);
        if (error != std::errc{}) continue;
        unsigned last = first;
        if (next != end && *next == '-') (void)std::from_chars(next + 1, end, last);
        for (unsigned core = first; core <= last && core < most; ++core) cores.push_back(core);
    }
    return cores;
}

Variables read_variables() {
    Variables variables;
    for (char** each = ::environ; *each != nullptr; ++each) {
        std::string_view const entry = *each;
        auto const equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return variables;
}

SlotFacts read_slot(std::string const& pci_bus_id) {
    std::string name = pci_bus_id;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string const folder = "/sys/bus/pci/devices/" + name + "/";
    SlotFacts slot;
    slot.link_speed = first_line_of_file(folder + "current_link_speed");
    slot.link_speed_max = first_line_of_file(folder + "max_link_speed");
    slot.link_width = number_in(folder + "current_link_width", 0);
    slot.link_width_max = number_in(folder + "max_link_width", 0);
    slot.memory_node = number_in(folder + "numa_node", -1);
    slot.local_cores = parse_cores(first_line_of_file(folder + "local_cpulist"));
    slot.iommu_type = first_line_of_file(folder + "iommu_group/type");
    return slot;
}

CpuFacts read_cpu() {
    CpuFacts cpu;
    cpu.avx = __builtin_cpu_supports("avx") != 0;
    for (detail::StoreTraits const& each : detail::store_table()) {
        bool const streams = each.kind != StoreKind::cached;
        if (streams && supported(each.kind)) cpu.stores.emplace(cpu.stores.begin(), each.name);
    }
    cpu.publish_mode = to_string(detail::best_mapped_stores().mode);
    cpu.waitpkg = detail::cpu::has_waitpkg();
    cpu.allowed = allowed_cores();
    cpu.governors = governors(cpu.allowed);
    return cpu;
}

HostFacts read_host(Variables const& variables) {
    HostFacts host;
    host.iommu_groups = entries("/sys/kernel/iommu_groups");
    auto const pipes = variables.find("CUDA_MPS_PIPE_DIRECTORY");
    std::string const folder = pipes == variables.end() ? "/tmp/nvidia-mps" : pipes->second;
    std::error_code error;
    host.mps_control = fs::exists(folder + "/control", error);
    host.line_of = first_line_of_file;
    host.limits = soft_limits();
    return host;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_state.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string_view>

#include "report/first_line.hpp"

namespace carillon::tool {
namespace {

constexpr std::array<std::string_view, 7> names{
    "gpu_clock_mhz", "gpu_clock_max_mhz",   "memory_clock_mhz", "pcie_generation",
    "pcie_width",    "pcie_generation_max", "pcie_width_max"};
constexpr char const* query =
    "clocks.sm,clocks.max.sm,clocks.mem,pcie.link.gen.current,pcie.link.width.current,"
    "pcie.link.gen.max,pcie.link.width.max";

// Whether `text` is safe in a command line: hexadecimal digits, colons and dots only.
[[nodiscard]] bool is_bus_id(std::string const& text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

struct ClosePipe {
    void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

[[nodiscard]] std::string first_line_of(std::string const& command) {
    std::unique_ptr<std::FILE, ClosePipe> const pipe(::popen(command.c_str(), "r"));
    std::array<char, 512> line{};
    if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
    return line.data();
}

// nvidia-smi's answer about one GPU, in a line.
[[nodiscard]] std::string query_gpu(std::string const& pci_bus_id, std::string const& what) {
    return first_line_of("timeout 10 nvidia-smi --id=" + pci_bus_id + " --query-gpu=" + what +
                         " --format=csv,noheader,nounits 2>/dev/null");
}

}  // namespace

nlohmann::json parse_gpu_state(std::string const& line) {
    nlohmann::json state = nlohmann::json::object();
    std::istringstream fields(line);
    std::string field;
    for (std::size_t i = 0; i < names.size() && std::getline(fields, field, ','); ++i) {
        std::size_t const start = field.find_first_not_of(' ');
        if (start == std::string::npos) continue;
        int value = 0;
        char const* const first = field.data() + start;
        auto const [end, error] = std::from_chars(first, field.data() + field.size(), value);
        if (error == std::errc() && end != first) state[std::string(names.at(i))] = value;
    }
    return state;
}

nlohmann::json gpu_state(std::string const& pci_bus_id) {
    if (!is_bus_id(pci_bus_id)) return nlohmann::json::object();
    nlohmann::json state = parse_gpu_state(query_gpu(pci_bus_id, query));
    std::string const folder = "/sys/bus/pci/devices/" + pci_bus_id + "/";
    for (std::string const name : {"current_link_speed", "current_link_width"}) {
        std::string const text = first_line_of_file(folder + name);
        if (!text.empty()) state["pci_" + name] = text;
    }
    return state;
}

std::optional<double> gpu_power(std::string const& pci_bus_id) {
    if (!is_bus_id(pci_bus_id)) return {};
    std::string const line = query_gpu(pci_bus_id, "power.draw");
    double watts = 0;
    auto const [end, error] = std::from_chars(line.data(), line.data() + line.size(), watts);
    if (error != std::errc() || end == line.data()) return {};
    return watts;
}

}  // namespace carillon::tool

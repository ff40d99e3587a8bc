// SPDX-License-Identifier: Apache-2.0
#include "report/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <carillon/detail/machine/pause.hpp>
#include <ctime>
#include <fstream>

#include "build_info.hpp"
#include "measure/latency.hpp"
#include "report/device_report.hpp"
#include "report/gpu_state.hpp"
#include "report/idle_states.hpp"

namespace carillon::tool {
namespace {

using nlohmann::json;

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        auto const colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

}  // namespace

json environment(DeviceInfo const& info) {
    json result = to_json(info);
    result["cpu"] = cpu_model();
    result["version"] = version;
    if (*commit != '\0') result["commit"] = commit;
    result.update(idle_states());
    if (!info.pci_bus_id.empty()) result.update(gpu_state(info.pci_bus_id));
    result["processors"] = detail::cpu::available_processors();
    result["clock"] = "std::chrono::steady_clock";
    result["clock_cost_ns"] = clock_cost_ns();
    result["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    return result;
}

std::string headline(std::string_view measured, DeviceInfo const& info) {
    std::string text = fmt::format("{} on {}\n", measured, info.name);
    if (info.emulated) {
        text +=
            fmt::format("EMULATED device: the figures are of threads of this CPU, not of a GPU{}\n",
                        info.why_emulated.empty() ? "" : " (" + info.why_emulated + ")");
    } else if (!info.why_host_memory.empty()) {
        text += fmt::format("HOST MEMORY: the rings are in CPU memory: {}\n", info.why_host_memory);
    }
    return text;
}

}  // namespace carillon::tool

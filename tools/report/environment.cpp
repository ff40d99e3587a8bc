// SPDX-License-Identifier: Apache-2.0
#include "report/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <carillon/detail/machine/pause.hpp>
#include <carillon/error.hpp>
#include <cerrno>
#include <ctime>
#include <fstream>

#include "build_info.hpp"
#include "measure/latency.hpp"
#include "report/device_report.hpp"
#include "report/gpu_state.hpp"
#include "report/idle_states.hpp"
#include "report/output.hpp"

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

std::string headline(DeviceInfo const& info) {
    if (!info.emulated && info.why_host_memory.empty()) {
        return fmt::format("device: {}\n", info.name);
    }
    if (!info.emulated) {
        return fmt::format("device: {}\nHOST MEMORY: its rings are on this side of the bus: {}\n",
                           info.name, info.why_host_memory);
    }
    return fmt::format(
        "device: {}\nEMULATED: these figures are of threads of this CPU, not of a GPU{}\n",
        info.name, info.why_emulated.empty() ? "" : " (" + info.why_emulated + ")");
}

void write_json(std::string const& path, json const& value) {
    // A path may have bytes that are no UTF-8.
    std::string const text = value.dump(2, ' ', false, json::error_handler_t::replace);
    if (is_output(path)) {
        fmt::print("{}\n", text);
        return;
    }
    std::ofstream file(path);
    file << text << '\n';
    file.close();
    if (!file) throw SystemError("write " + path, errno);
}

}  // namespace carillon::tool

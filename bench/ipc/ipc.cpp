// SPDX-License-Identifier: Apache-2.0
#include "ipc/ipc.hpp"

#include <carillon/error.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "measure/turns.hpp"

namespace carillon::tool {

IpcHeld read_ipc_held() {
    IpcHeld held;
    std::error_code error;
    for (std::filesystem::directory_iterator each("/proc/self/fd", error), end;
         !error && each != end; each.increment(error)) {
        ++held.descriptors;
    }
    std::ifstream maps("/proc/self/maps");
    if (error || !maps) throw SystemError("read /proc/self", error ? error.value() : errno);
    for (std::string line; std::getline(maps, line);) {
        if (line.find("memfd:") != std::string::npos || line.find("/dev/") != std::string::npos) {
            ++held.mappings;
        }
    }
    return held;
}

IpcReport run_ipc(Device const& device, IpcOptions const& options, Progress const& progress) {
    if (options.calls < options.rounds) {
        throw UsageError(
            "ipc", "there must be at least one call per round, " + std::to_string(options.rounds));
    }
    constexpr std::size_t stages = 7;
    auto const stage = [&](std::size_t index) {
        return progress_of_stage(progress, index, stages);
    };
    IpcReport report;
    report.seed = options.seed;
    report.client_count = options.clients;
    report.blocks = options.blocks;
    // Each part, and its text.
    std::function<std::string()> const parts[] = {
        [&] {
            report.calls = time_ipc_calls(device, options, stage(0));
            report.clients = time_ipc_clients(device, options, stage(1));
            return calls_text(report);
        },
        [&] {
            report.stalls.push_back(measure_ipc_stall(device, options, false, stage(2)));
            report.stalls.push_back(measure_ipc_stall(device, options, true, stage(3)));
            return stalls_table(report.stalls);
        },
        [&] {
            report.buffers = time_ipc_buffers(device, options, stage(4));
            return buffers_text(report.buffers);
        },
        [&] {
            if (options.client_kills == 0) return std::string();
            report.client_kills = kill_clients(device, options, stage(5));
            return kills_text(report.client_kills);
        },
        [&] {
            if (options.owner_kills == 0) return std::string();
            report.owner_kills = kill_owners(options, stage(6));
            return kills_text(report.owner_kills);
        }};
    for (auto const& part : parts) {
        if (interrupted()) break;
        std::string const text = part();
        if (options.tell) options.tell(text);
    }
    progress(1);
    return report;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// `carillon-bench ipc`: the cost of calls from another process, the cost for others of clients that
// come and go, and whether anything is lost when processes are killed.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "ipc/shared_kernel.hpp"
#include "measure/latency.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct IpcOptions {
    std::uint32_t calls = 100'000;  // of each client, in rounds
    std::uint32_t rounds = 10;
    unsigned clients = 8;       // processes at once
    std::uint32_t visits = 20;  // processes that attach and leave beside another's calls
    std::uint32_t puts = 1000;  // buffers from one process to another
    std::uint32_t client_kills = 0;
    std::uint32_t owner_kills = 0;
    std::uint64_t seed = 0;           // of the moments of kills
    std::string device = "emulated";  // for owners in processes of their own
    Blocks blocks = Blocks::one_each;
    // Is called with each part of the report for people, when it was measured.
    std::function<void(std::string const&)> tell{};
};

// Latencies of one client's calls while other clients attach or exit.
struct IpcStall {
    bool host_memory = false;  // the others' rings
    LatencySummary alone;
    LatencySummary attach;
    LatencySummary exit;
};

// Resources of the system that the owner of a kernel holds.
struct IpcHeld {
    std::uint64_t descriptors = 0;
    std::uint64_t mappings = 0;  // of memory that is shared

    bool operator==(IpcHeld const&) const = default;
};
[[nodiscard]] IpcHeld read_ipc_held();  // throws SystemError

// Buffers from one process to another.
struct IpcBuffers {
    std::size_t bytes = 0;  // of each
    LatencySummary store;
    std::vector<LatencySummary> parts;         // of what the store takes
    std::vector<LatencySummary> alternatives;  // cuda-ipc-get, cuda-ipc-store-get; or none
    std::string why_no_cuda_ipc;               // empty where that was measured
};

struct ClientKills {
    std::uint32_t kills = 0;
    std::uint32_t ok = 0;        // after which all was as it should be
    std::uint64_t commands = 0;  // that were answered to clients that were not killed
    std::string failure;         // the first
    IpcHeld before;
    IpcHeld after;

    [[nodiscard]] bool sound() const { return ok == kills && failure.empty() && before == after; }
};

struct OwnerKills {
    std::uint32_t kills = 0;
    std::uint32_t ok = 0;    // after which all was as it should be, and every client knew in time
    std::uint32_t late = 0;  // after which all was as it should be, but some client knew late
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t unknown = 0;
    double longest_us = 0;      // from a kill to a client's OwnerGoneError
    double longest_end_us = 0;  // to the process's end, which is the system's time
    std::string failure;        // the first

    [[nodiscard]] bool sound() const { return ok + late == kills && failure.empty(); }
};
// A client knows in time that its owner has gone.
constexpr double owner_gone_us = 100'000;

struct IpcReport {
    // An interrupt leaves out the last parts.
    std::vector<LatencySummary> calls;    // in-process, connection, other-process
    std::vector<LatencySummary> clients;  // one-client, all-clients
    std::vector<IpcStall> stalls;
    IpcBuffers buffers;
    ClientKills client_kills;
    OwnerKills owner_kills;
    std::uint64_t seed = 0;
    unsigned client_count = 0;
    Blocks blocks = Blocks::one_each;
};

// Runs all. Throws what the library throws, and Error for a wrong reply. Faults that kills caused
// are in the report.
[[nodiscard]] IpcReport run_ipc(Device const& device, IpcOptions const& options,
                                Progress const& progress);

// The parts of run_ipc().
[[nodiscard]] std::vector<LatencySummary> time_ipc_calls(Device const& device,
                                                         IpcOptions const& options,
                                                         Progress const& progress);
[[nodiscard]] std::vector<LatencySummary> time_ipc_clients(Device const& device,
                                                           IpcOptions const& options,
                                                           Progress const& progress);
[[nodiscard]] IpcStall measure_ipc_stall(Device const& device, IpcOptions const& options,
                                         bool host_memory, Progress const& progress);
[[nodiscard]] IpcBuffers time_ipc_buffers(Device const& device, IpcOptions const& options,
                                          Progress const& progress);
[[nodiscard]] ClientKills kill_clients(Device const& device, IpcOptions const& options,
                                       Progress const& progress);
[[nodiscard]] OwnerKills kill_owners(IpcOptions const& options, Progress const& progress);

[[nodiscard]] nlohmann::json to_json(IpcReport const& report);
// The parts of the report for people, in order; the last is a line.
[[nodiscard]] std::string calls_text(IpcReport const& report);
[[nodiscard]] std::string stalls_table(std::vector<IpcStall> const& stalls);
[[nodiscard]] std::string buffers_text(IpcBuffers const& buffers);
[[nodiscard]] std::string kills_text(ClientKills const& result);
[[nodiscard]] std::string kills_text(OwnerKills const& result);
[[nodiscard]] std::string ipc_summary(IpcReport const& report);
// Throws Error, which names the faults that kills caused, if there are any.
void require_sound(IpcReport const& report);

[[nodiscard]] std::unique_ptr<Command> make_ipc_command();

}  // namespace carillon::tool

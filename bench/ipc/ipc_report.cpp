// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <carillon/error.hpp>

#include "ipc/ipc.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

double ratio(LatencySummary const& of, LatencySummary const& over) {
    return over.p50_ns > 0 ? of.p50_ns / over.p50_ns : 0;
}

// The ratio of two rows; 0 if an interrupt came before them.
double ratio(std::vector<LatencySummary> const& rows, std::size_t of, std::size_t over) {
    return std::max(of, over) < rows.size() ? ratio(rows[of], rows[over]) : 0;
}

double microseconds(double nanoseconds) { return nanoseconds / 1000; }

char const* kernel(Blocks blocks) {
    return blocks == Blocks::shared ? "SharedPool" : "SharedChannels";
}

char const* rings(IpcStall const& stall) { return stall.host_memory ? "host" : "device"; }

nlohmann::json to_json(IpcHeld const& held) {
    return {{"descriptors", held.descriptors}, {"mappings", held.mappings}};
}

nlohmann::json to_json(ClientKills const& result) {
    return {{"kills", result.kills},
            {"ok", result.ok},
            {"commands", result.commands},
            {"failure", result.failure},
            {"before", to_json(result.before)},
            {"after", to_json(result.after)}};
}

nlohmann::json to_json(OwnerKills const& result) {
    return {{"kills", result.kills},
            {"ok", result.ok},
            {"late", result.late},
            {"sent", result.sent},
            {"answered", result.answered},
            {"unknown", result.unknown},
            {"longest_us", result.longest_us},
            {"longest_end_us", result.longest_end_us},
            {"failure", result.failure}};
}

// The measured rows: an interrupt leaves out the last ones.
std::vector<LatencySummary> rows_of(IpcBuffers const& buffers) {
    std::vector<LatencySummary> rows{buffers.store};
    rows.insert(rows.end(), buffers.parts.begin(), buffers.parts.end());
    rows.insert(rows.end(), buffers.alternatives.begin(), buffers.alternatives.end());
    std::erase_if(rows, [](LatencySummary const& each) { return each.count == 0; });
    return rows;
}

}  // namespace

std::string stalls_table(std::vector<IpcStall> const& stalls) {
    std::string text = fmt::format("\n{:<46}{:>12}{:>12}{:>12}\n", "calls of one client, us",
                                   "count", "p99.9", "longest");
    for (IpcStall const& stall : stalls) {
        auto const row = [&](char const* what, LatencySummary const& calls) {
            if (calls.count == 0) return;  // an interrupt came before
            text +=
                fmt::format("{:<46}{:>12}{:>12.1f}{:>12.1f}\n",
                            fmt::format("{} (rings in {} memory)", what, rings(stall)), calls.count,
                            microseconds(calls.p999_ns), microseconds(calls.max_ns));
        };
        row("alone", stall.alone);
        row("while others attach", stall.attach);
        row("while others exit", stall.exit);
    }
    return text;
}

std::string buffers_text(IpcBuffers const& buffers) {
    std::string text = fmt::format(
        "\na buffer of {} bytes from one process to another: created, written, sealed and got; "
        "and\n"
        "by cuMemAlloc, cuMemcpyHtoD and CUDA IPC, without a store and, as vineyard does, with "
        "one\n{}",
        buffers.bytes, latency_table(rows_of(buffers)));
    if (buffers.why_no_cuda_ipc.empty()) {
        if (ratio(buffers.alternatives.back(), buffers.store) == 0) return text;  // as above
        return text +
               fmt::format("p50 over the store's: CUDA IPC {:.2f}, CUDA IPC with a store {:.2f}\n",
                           ratio(buffers.alternatives.front(), buffers.store),
                           ratio(buffers.alternatives.back(), buffers.store));
    }
    return text + fmt::format("CUDA IPC was not measured: {}\n", buffers.why_no_cuda_ipc);
}

std::string kills_text(ClientKills const& result) {
    if (result.kills == 0) return "";
    return fmt::format(
        "\n{} of {} kills of a client lost nothing; the other clients' {} requests were answered. "
        "The owner had {} descriptors and {} mappings before, {} and {} after.\n{}",
        result.ok, result.kills, result.commands, result.before.descriptors, result.before.mappings,
        result.after.descriptors, result.after.mappings,
        result.failure.empty() ? "" : fmt::format("the first failure: {}\n", result.failure));
}

std::string kills_text(OwnerKills const& result) {
    if (result.kills == 0) return "";
    return fmt::format(
        "\n{} of {} kills of the owner lost nothing, {} more were noticed later than after {:.0f} "
        "ms; "
        "the slowest client noticed after {:.1f} ms, the slowest owner ended after {:.1f} ms. "
        "Requests: {} sent, {} answered, {} unknown.\n{}",
        result.ok, result.kills, result.late, owner_gone_us / 1000, result.longest_us / 1000,
        result.longest_end_us / 1000, result.sent, result.answered, result.unknown,
        result.failure.empty() ? "" : fmt::format("the first failure: {}\n", result.failure));
}

nlohmann::json to_json(IpcReport const& report) {
    nlohmann::json rows = nlohmann::json::array();
    for (auto const& part : {report.calls, report.clients}) {
        for (LatencySummary const& each : part) {
            if (each.count != 0) rows.push_back(to_json(each));
        }
    }
    for (IpcStall const& stall : report.stalls) {
        for (LatencySummary const& calls : {stall.alone, stall.attach, stall.exit}) {
            if (calls.count == 0) continue;
            nlohmann::json row = to_json(calls);
            row["rings"] = rings(stall);
            rows.push_back(row);
        }
    }
    for (LatencySummary const& each : rows_of(report.buffers)) {
        nlohmann::json row = to_json(each);
        row["bytes"] = report.buffers.bytes;
        rows.push_back(row);
    }
    nlohmann::json json{{"results", rows},
                        {"clients", report.client_count},
                        {"kernel", kernel(report.blocks)},
                        {"seed", report.seed}};
    auto const add_ratio = [&](char const* key, double ratio) {
        if (ratio != 0) json[key] = ratio;
    };
    add_ratio("call_over_in_process", ratio(report.calls, 2, 0));
    add_ratio("clients_over_1", ratio(report.clients, 1, 0));
    if (!report.buffers.alternatives.empty()) {
        IpcBuffers const& buffers = report.buffers;
        add_ratio("store_get_over_bare_cuda_ipc",
                  ratio(buffers.alternatives.front(), buffers.store));
        add_ratio("store_get_over_cuda_ipc", ratio(buffers.alternatives.back(), buffers.store));
    } else if (!report.buffers.why_no_cuda_ipc.empty()) {
        json["why_no_cuda_ipc"] = report.buffers.why_no_cuda_ipc;
    }
    if (report.client_kills.kills != 0) {
        json["client_kills_ok"] = report.client_kills.ok;
        json["client_kills"] = to_json(report.client_kills);
    }
    if (report.owner_kills.kills != 0) {
        json["owner_kills_ok"] = report.owner_kills.ok;
        json["owner_kills"] = to_json(report.owner_kills);
    }
    return json;
}

std::string calls_text(IpcReport const& report) {
    std::vector<LatencySummary> rows = report.calls;
    rows.insert(rows.end(), report.clients.begin(), report.clients.end());
    std::erase_if(rows, [](LatencySummary const& each) { return each.count == 0; });
    std::string text = fmt::format(
        "\ncalls, 48 bytes each way, of a kernel with {1}: from this process, through a "
        "connection\n"
        "to itself, from another process; from one and from {0} other processes at once\n{2}",
        report.client_count, kernel(report.blocks), latency_table(rows));
    double const over_in_process = ratio(report.calls, 2, 0);
    double const over_one = ratio(report.clients, 1, 0);
    if (over_in_process == 0 || over_one == 0) return text;  // an interrupt came before
    return text +
           fmt::format("p50: other process over in-process {:.3f}, {} clients over one {:.3f}\n",
                       over_in_process, report.client_count, over_one);
}

std::string ipc_summary(IpcReport const& report) {
    if (ratio(report.calls, 2, 0) == 0) return "";  // an interrupt came before
    return fmt::format(
        "a call from another process: p50 {:.2f} us, p99 {:.2f} us, {:.2f} times an "
        "in-process call\n",
        microseconds(report.calls[2].p50_ns), microseconds(report.calls[2].p99_ns),
        ratio(report.calls, 2, 0));
}

void require_sound(IpcReport const& report) {
    ClientKills const& clients = report.client_kills;
    OwnerKills const& owners = report.owner_kills;
    if (!clients.sound()) {
        throw Error("ipc", fmt::format("{} of {} kills of a client lost nothing: {}", clients.ok,
                                       clients.kills,
                                       clients.failure.empty() ? "the number of the owner's "
                                                                 "descriptors or mappings changed"
                                                               : clients.failure));
    }
    if (!owners.sound()) {
        throw Error("ipc", fmt::format("{} of {} kills of the owner lost nothing: {}",
                                       owners.ok + owners.late, owners.kills, owners.failure));
    }
}

}  // namespace carillon::tool

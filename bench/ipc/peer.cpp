// SPDX-License-Identifier: Apache-2.0
#include "ipc/peer.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <carillon/carillon.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include "ipc/checked_client.hpp"

namespace carillon::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned burst = 4;
constexpr unsigned bursts_between_orders = 16;

Connection attach_to(Peer const& peer) {
    return Connection(peer.path, {.timeout = patience, .host_memory = peer.host_memory});
}

// "calls NAME COUNT": makes so many calls and keeps their times under that name. "samples NAME":
// sends these times.
void run_caller(Peer const& peer, Talk& orders) {
    Connection const owner = attach_to(peer);
    auto channel = owner.channel<IpcHandler>();
    CheckedClient client(channel, peer.number, peer.blocks);
    orders.say("attached");
    std::map<std::string, Samples> samples;
    for (;;) {
        std::istringstream order(orders.line(until_told));
        std::string what;
        std::string name;
        std::uint32_t count = 0;
        order >> what >> name >> count;
        if (what == "end") return;
        if (what == "calls") {
            client.call(count, samples[name]);
            orders.say("done");
        } else {
            orders.say(std::to_string(samples[name].size()));
            orders.send(std::as_bytes(std::span(samples[name])));
        }
    }
}

void run_visit(Peer const& peer, Talk& orders) {
    orders.say("ready");
    (void)orders.line(until_told);
    Connection const owner = attach_to(peer);
    auto channel = owner.channel<IpcHandler>();
    (void)CheckedClient(channel, peer.number, peer.blocks).call();
    orders.say("attached");
    (void)orders.line(until_told);
}

// Attaches on an order. Further orders: "report": sends the number of its replies. "end": ends.
void run_client(Peer const& peer, Talk& orders) {
    orders.say("ready");
    (void)orders.line(until_told);
    Connection const owner = attach_to(peer);
    auto channel = owner.channel<IpcHandler>();
    CheckedClient client(channel, peer.number, peer.blocks);
    (void)client.call();
    orders.say("attached");
    for (;;) {
        for (unsigned i = 0; i < bursts_between_orders; ++i) {
            (void)client.call();
            client.burst(burst);
        }
        if (!orders.heard()) continue;
        std::string const order = orders.line();
        orders.say(std::to_string(client.answered()));
        if (order == "end") return;
    }
}

// Waits for an owner that serves at the path, and connects to it.
Connection await_owner(Peer const& peer) {
    auto const end = Clock::now() + patience;
    for (;;) {
        try {
            return attach_to(peer);
        } catch (Error const&) {  // there is no listener, or it is just ending
            if (Clock::now() > end) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Runs until the owner ends, and sends then: "gone TIME SENT ANSWERED UNKNOWN". Times are the
// steady clock's, in ns. Returns false after an order to end.
bool run_ledger_at_one(Peer const& peer, Talk& orders) {
    Connection const owner = await_owner(peer);
    auto channel = owner.channel<IpcHandler>();
    CheckedClient client(channel, peer.number, peer.blocks);
    try {
        (void)client.call();
        // This owner serves no request that was sent to an earlier one, as the count of the
        // client's own block shows.
        if (peer.blocks == Blocks::one_each && client.count() != 1)
            throw Error("ipc", "a new owner has served requests before");
        orders.say("attached");
        while (!orders.heard()) {
            for (unsigned i = 0; i < bursts_between_orders; ++i) client.burst(burst);
        }
        return false;
    } catch (OwnerGoneError const&) {
        auto const now = Clock::now().time_since_epoch();
        client.settle();
        std::ostringstream said;
        said << "gone " << std::chrono::nanoseconds(now).count() << ' ' << client.sent() << ' '
             << client.answered() << ' ' << client.unknown();
        orders.say(said.str());
    }
    return true;
}

void run_ledger(Peer const& peer, Talk& orders) {
    while (run_ledger_at_one(peer, orders)) {
    }
}

}  // namespace

std::vector<std::string> arguments_of(Peer const& peer) {
    std::vector<std::string> arguments{"--role",           peer.role,  "--path",
                                       peer.path.string(), "--number", std::to_string(peer.number),
                                       "--device",         peer.device};
    if (peer.host_memory) arguments.emplace_back("--host-memory");
    if (peer.blocks == Blocks::shared) arguments.emplace_back("--pool");
    return arguments;
}

void run_peer(Peer const& peer) {
    // Ends this process when the process that started it ends, for whatever reason.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::map<std::string, void (*)(Peer const&, Talk&)> const roles{
        {"caller", run_caller},
        {"visit", run_visit},
        {"client", run_client},
        {"ledger", run_ledger},
        {"owner", run_owner},
        {"store", run_store},
        {"store-get", run_store_reader},
        {"cuda-ipc-get", run_cuda_ipc_reader},
        {"cuda-ipc-store", run_cuda_ipc_store},
        {"cuda-ipc-store-get", run_cuda_ipc_store_reader}};
    auto const role = roles.find(peer.role);
    if (role == roles.end()) throw UsageError("ipc", "there is no role " + peer.role);
    Talk orders(FileDescriptor(::dup(STDIN_FILENO)));
    try {
        role->second(peer, orders);
    } catch (std::exception const& error) {
        orders.say(std::string("failed: ") + error.what());
        throw;
    }
}

}  // namespace carillon::tool

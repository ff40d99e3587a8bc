// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include <algorithm>
#include <carillon/carillon.hpp>
#include <functional>
#include <utility>

#include "ipc/checked_client.hpp"
#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "ipc/shared_kernel.hpp"
#include "measure/turns.hpp"

namespace carillon::tool {
namespace {

// An interrupt waits for as many calls of another process.
constexpr std::uint32_t most_begun = 100'000;

// A client in another process.
class Caller {
   public:
    Caller(std::filesystem::path const& path, std::uint64_t number, Blocks blocks)
        : child_(start_peer({.role = "caller", .path = path, .number = number, .blocks = blocks})) {
        child_.expect("attached");
    }

    void begin(std::string const& name, std::uint32_t count) {
        child_.talk().say("calls " + name + " " + std::to_string(count));
        begun_ = count;
    }
    // Waits for all calls that were begun, each of which has a limit.
    void await() { child_.expect("done", patience + begun_ * std::chrono::milliseconds(1)); }
    // Until an interrupt, for which this looks between pieces.
    void call(std::string const& name, std::uint32_t count) {
        for (std::uint32_t left = count; left != 0 && !interrupted();) {
            std::uint32_t const piece = std::min(left, most_begun);
            begin(name, piece);
            await();
            left -= piece;
        }
    }
    void add_samples(std::string const& name, Samples& to) {
        child_.talk().say("samples " + name);
        std::size_t const before = to.size();
        to.resize(before + std::stoul(child_.talk().line()));
        child_.talk().read(std::as_writable_bytes(std::span(to).subspan(before)));
    }
    void end() {
        child_.talk().say("end");
        child_.await_end();
    }

   private:
    Child child_;
    std::uint32_t begun_ = 0;
};

// `own`: a client of a kernel that this process commands itself; the kernel equals the shared one.
template <class Client>
std::vector<LatencySummary> time_beside(Client& own, SharedKernel const& shared,
                                        IpcOptions const& options, Progress const& progress) {
    SocketFolder const folder;
    Server const server = shared.serve(folder.socket());
    Connection const connection = connect(folder.socket(), {.timeout = patience});
    auto channel = connection.channel<IpcHandler>();
    CheckedClient in_process(own, 1, options.blocks);
    CheckedClient connected(channel, 2, options.blocks);
    Caller other(folder.socket(), 3, options.blocks);

    std::uint32_t const calls = options.calls / options.rounds;
    Samples samples[3];
    std::function<void()> const turns[] = {[&] { in_process.call(calls, samples[0]); },
                                           [&] { connected.call(calls, samples[1]); },
                                           [&] { other.call("calls", calls); }};
    in_process.burst(8);
    connected.burst(8);
    other.call("warm-up", calls);
    take_turns(options.rounds, std::size(turns), progress,
               [&](std::size_t turn) { turns[turn](); });
    other.add_samples("calls", samples[2]);
    other.end();
    return {summarize("in-process", samples[0]), summarize("connection", samples[1]),
            summarize("other-process", samples[2])};
}

}  // namespace

std::vector<LatencySummary> time_ipc_calls(Device const& device, IpcOptions const& options,
                                           Progress const& progress) {
    // Both kernels have the same number of clients and blocks: how a block serves, and how a client
    // waits, may depend on these numbers.
    constexpr unsigned clients = 2;
    KernelOptions kernel_options;
    SharedKernel const shared(device, kernel_options, options.blocks, clients);
    if (options.blocks == Blocks::shared) {
        PersistentKernel<IpcHandler, Pool> const own(device, kernel_options);
        auto client = own.client();
        return time_beside(client, shared, options, progress);
    }
    kernel_options.blocks = clients;
    PersistentKernel<IpcHandler> own(device, kernel_options);
    return time_beside(own.channel(), shared, options, progress);
}

std::vector<LatencySummary> time_ipc_clients(Device const& device, IpcOptions const& options,
                                             Progress const& progress) {
    SharedKernel const kernel(device, {}, options.blocks, options.clients);
    SocketFolder const folder;
    Server const server = kernel.serve(folder.socket());
    std::vector<Caller> callers;
    for (unsigned i = 0; i < options.clients; ++i) {
        callers.emplace_back(folder.socket(), i, options.blocks);
    }

    std::uint32_t const calls = options.calls / options.rounds;
    for (Caller& each : callers) each.call("warm-up", calls / 10 + 1);
    for (std::uint32_t round = 0; round < options.rounds && !interrupted(); ++round) {
        callers[round % callers.size()].call("one", calls);
        for (std::uint32_t left = calls; left != 0 && !interrupted();) {
            std::uint32_t const piece = std::min(left, most_begun);
            for (Caller& each : callers) each.begin("all", piece);
            for (Caller& each : callers) each.await();
            left -= piece;
        }
        progress(static_cast<double>(round + 1) / options.rounds);
    }
    Samples one;
    Samples all;
    for (Caller& each : callers) {
        each.add_samples("one", one);
        each.add_samples("all", all);
        each.end();
    }
    return {summarize("one-client", one), summarize("all-clients", all)};
}

}  // namespace carillon::tool

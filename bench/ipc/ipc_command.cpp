// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <random>

#include "command/common.hpp"
#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class IpcCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        add_number(command_line, "--calls", options_.calls, 10U, 100'000'000U,
                   "time N calls of each client");
        add_number(command_line, "--clients", options_.clients, 1U, 64U,
                   "let N processes call at once");
        add_number(command_line, "--visits", options_.visits, 1U, 1'000'000U,
                   "let N processes attach and leave while another one calls");
        add_number(command_line, "--puts", options_.puts, 10U, 10'000'000U,
                   "send N buffers of 1 MiB to another process, by a store and by CUDA IPC");
        add_number(command_line, "--client-kills", options_.client_kills, 0U, 100'000'000U,
                   "kill one of 8 client processes, N times");
        add_number(command_line, "--owner-kills", options_.owner_kills, 0U, 100'000'000U,
                   "kill the process that owns the kernel, N times");
        command_line.add_flag("--pool", pool_,
                              "let all clients share all blocks (SharedPool), instead of a block "
                              "for each");
        command_line
            .add_option("--seed", options_.seed,
                        "choose the moments of kills by this number (default: a random number)")
            ->default_str("")
            ->option_text("N");
        add_options_of_peers(command_line);
    }

    void run() override {
        options_.blocks = peer_.blocks = pool_ ? Blocks::shared : Blocks::one_each;
        if (!peer_.role.empty()) {
            peer_.device = common_.selector();
            return run_peer(peer_);
        }
        Device const device = common_.open_for_measurement();
        options_.device = device.info().selector;
        if (options_.seed == 0) options_.seed = std::random_device()();
        options_.tell = [this](std::string const& text) { common_.print(text); };
        common_.print(headline("calls and buffers between processes", device.info()) +
                      fmt::format("seed {}\n", options_.seed));
        IpcReport const report = run_ipc(device, options_, show_progress);
        common_.print(ipc_summary(report));
        common_.write(to_json(report), device.info());
        require_sound(report);
    }

   private:
    // Options with which this command starts itself again; its help does not show them.
    void add_options_of_peers(CLI::App& command_line) {
        command_line.add_option("--role", peer_.role)->group("");
        command_line.add_option("--path", peer_.path)->group("");
        command_line.add_option("--number", peer_.number)->group("");
        command_line.add_flag("--host-memory", peer_.host_memory)->group("");
    }

    CommonOptions common_;
    IpcOptions options_;
    bool pool_ = false;
    Peer peer_;
};

}  // namespace

std::unique_ptr<Command> make_ipc_command() { return std::make_unique<IpcCommand>(); }

}  // namespace carillon::tool

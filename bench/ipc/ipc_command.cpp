// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
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
        command_line.add_option("--calls", options_.calls, "of each client")
            ->check(CLI::Range(10U, 100'000'000U));
        command_line.add_option("--clients", options_.clients, "processes that call at once")
            ->check(CLI::Range(1U, 64U));
        command_line
            .add_option("--visits", options_.visits,
                        "processes that attach and leave beside the calls of another")
            ->check(CLI::Range(1U, 1'000'000U));
        command_line
            .add_option("--puts", options_.puts,
                        "buffers of 1 MiB from one process to another, by a store, and by CUDA IPC")
            ->check(CLI::Range(10U, 10'000'000U));
        command_line
            .add_option("--client-kills", options_.client_kills,
                        "how often one of 8 client processes is killed")
            ->check(CLI::Range(0U, 100'000'000U));
        command_line
            .add_option("--owner-kills", options_.owner_kills,
                        "how often the process that owns the kernel is killed")
            ->check(CLI::Range(0U, 100'000'000U));
        command_line.add_flag("--pool", pool_,
                              "all blocks for all clients (SharedPool), instead of one for each");
        command_line.add_option("--seed", options_.seed,
                                "of the moments of kills; without it another each time");
        add_options_of_peers(command_line);
    }

    void run() override {
        options_.blocks = peer_.blocks = pool_ ? Blocks::shared : Blocks::one_each;
        if (!peer_.role.empty()) {
            peer_.device = common_.selector();
            return run_peer(peer_);
        }
        Device const device = common_.open();
        options_.device = device.info().selector;
        if (options_.seed == 0) options_.seed = std::random_device()();
        IpcReport const report = run_ipc(device, options_, show_progress);
        common_.print(headline(device.info()) + ipc_text(report));
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

// SPDX-License-Identifier: Apache-2.0
// Sends a recorded market-by-order feed to a kernel that keeps a tally, and compares the tally with
// the host's own. A record is a command. FILE is in Databento's DBN format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <carillon/error.hpp>
#include <filesystem>

#include "command/common.hpp"
#include "command/main_program.hpp"
#include "examples/replay/replay.hpp"
#include "measure/latency.hpp"
#include "report/environment.hpp"

namespace carillon::example {
namespace {

using tool::LatencySummary;

class ReplayCommand final : public tool::Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line
            .add_option(
                "FILE", path_,
                "send the market-by-order records of this DBN file (version 1 to 3, also .zst); - "
                "reads standard input")
            ->required();
    }

    void run() override {
        dbn::MboFile const file = dbn::MboFile::read(path_);
        Device const device = common_.open();
        common_.print(tool::headline("one call per record", device.info()));
        ReplayResult result = run_replay(device, file, {}, tool::show_progress);
        LatencySummary const latency = tool::summarize("call", result.latencies_ns);
        common_.print(
            fmt::format("{} records of {} bytes from {}\n{}{}{}", result.records, sizeof(MboRecord),
                        path_ == "-" ? "standard input" : path_, skipped_text(file.skipped()),
                        tally_table(result.device, result.host), tool::latency_table({latency})));
        bool const agree = result.device == result.host;
        common_.write({{"file", std::filesystem::path(path_).filename().string()},
                       {"records", result.records},
                       {"record_bytes", sizeof(MboRecord)},
                       {"skipped", to_json(file.skipped())},
                       {"agree", agree},
                       {"device_tally", to_json(result.device)},
                       {"host_tally", to_json(result.host)},
                       {"results", nlohmann::json::array({tool::to_json(latency)})}},
                      device.info());
        if (!agree) throw Error("replay", "the device's tallies differ from the host's");
    }

   private:
    tool::CommonOptions common_;
    std::string path_;
};

std::unique_ptr<tool::Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

constexpr tool::CommandEntry command[] = {
    {"Measure", "replay", "send an order-by-order feed, one call per record, and check the tallies",
     "The kernel and the host each keep a tally of the feed. The exit status is 1 if the "
     "tallies differ.",
     "  replay day.dbn.zst                    send a file\n"
     "  zstdcat day.dbn.zst | replay -        send standard input",
     make_replay_command}};

}  // namespace
}  // namespace carillon::example

int main(int argc, char** argv) {
    using namespace carillon;
    return tool::run_program({"replay", example::command[0].what, "", example::command}, argc,
                             argv);
}

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <carillon/error.hpp>
#include <filesystem>

#include "command/common.hpp"
#include "measure/latency.hpp"
#include "replay/replay.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class ReplayCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line
            .add_option(
                "file", path_,
                "a DBN file (version 1 to 3, also .zst) with market-by-order records; - for "
                "standard input")
            ->required();
    }

    void run() override {
        dbn::MboFile const file = dbn::MboFile::read(path_);
        Device const device = common_.open();
        ReplayResult result = run_replay(device, file, {}, show_progress);
        LatencySummary const latency = summarize("call", result.latencies_ns);
        common_.print(
            fmt::format("{}{} records of {} bytes of {}\n{}{}{}", headline(device.info()),
                        result.records, sizeof(MboRecord), path_ == "-" ? "standard input" : path_,
                        skipped_text(file.skipped()), tally_table(result.device, result.host),
                        latency_table({latency})));
        bool const agree = result.device == result.host;
        common_.write({{"file", std::filesystem::path(path_).filename().string()},
                       {"records", result.records},
                       {"record_bytes", sizeof(MboRecord)},
                       {"skipped", to_json(file.skipped())},
                       {"agree", agree},
                       {"device_tally", to_json(result.device)},
                       {"host_tally", to_json(result.host)},
                       {"results", nlohmann::json::array({to_json(latency)})}},
                      device.info());
        if (!agree) throw Error("replay", "the device's tallies differ from the host's");
    }

   private:
    CommonOptions common_;
    std::string path_;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

}  // namespace carillon::tool

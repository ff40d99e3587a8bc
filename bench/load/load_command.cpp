// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "command/common.hpp"
#include "load/load.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class LoadCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--samples", options_.samples, "of each level")
            ->check(CLI::Range(1U, 100'000'000U));
        command_line.add_option("--rounds", options_.rounds, "in which the levels take turns")
            ->check(CLI::Range(1U, 1000U));
        command_line.add_option("--capacity", options_.capacity, "slots, a power of two");
    }

    void run() override {
        options_.rounds = std::min(options_.rounds, options_.samples.value_or(options_.rounds));
        Device const device = common_.open();
        LoadResult const measured = run_load(device, options_, show_progress);
        nlohmann::json env = environment(device.info());
        env["rounds"] = options_.rounds;
        env["capacity"] = options_.capacity;
        common_.print(fmt::format(
            "{}ns from when a call was due to its reply, {:.0f} of them the clock's own cost\n{}",
            headline(device.info()), env["clock_cost_ns"].get<double>(), load_table(measured)));
        common_.write({{"environment", env},
                       {"channel_per_second", measured.channel_per_second},
                       {"launch_per_second", measured.launch_per_second},
                       {"results", json_array(measured.levels)}});
    }

   private:
    CommonOptions common_;
    LoadOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_load_command() { return std::make_unique<LoadCommand>(); }

}  // namespace carillon::tool

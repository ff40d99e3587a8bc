// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
        add_number(command_line, "--samples", options_.samples, 1U, 100'000'000U,
                   "time N calls at each rate (default: 200000, or 20000 on the emulated device)");
        add_rounds(command_line, options_.rounds);
        add_capacity(command_line, options_.capacity);
    }

    void run() override {
        options_.rounds = std::min(options_.rounds, options_.samples.value_or(options_.rounds));
        Device const device = common_.open_for_measurement();
        common_.print(headline("calls on a schedule", device.info()) +
                      fmt::format("a time begins when the call is due and ends with its reply; "
                                  "reading the clock takes {:.0f} ns of it\n",
                                  clock_cost_ns()));
        LoadResult const measured = run_load(device, options_, show_progress);
        common_.print(load_table(measured) + load_summary(measured));
        nlohmann::json env = environment(device.info());
        env["rounds"] = options_.rounds;
        env["capacity"] = options_.capacity;
        nlohmann::json all{{"environment", env},
                           {"launch_per_second", measured.launch_per_second},
                           {"results", json_array(measured.levels)}};
        if (measured.channel_per_second > 0) {
            all["channel_per_second"] = measured.channel_per_second;
        }
        common_.write(all);
    }

   private:
    CommonOptions common_;
    LoadOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_load_command() { return std::make_unique<LoadCommand>(); }

}  // namespace carillon::tool

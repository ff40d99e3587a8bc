// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "rate/rate.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class RateCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--seconds", options_.seconds, "for all measures together")
            ->check(CLI::Range(0.001, 86'400.0));
        command_line.add_option("--rounds", options_.rounds, "in which the measures take turns")
            ->check(CLI::Range(1U, 1000U));
        command_line.add_option("--capacity", options_.capacity, "slots of a ring, a power of two");
        command_line.add_option("--stripe", options_.stripe, "slots that a warp claims at once");
        command_line.add_option("--warps", options_.warps, "of a block that takes messages")
            ->check(CLI::Range(1U, 32U));
        command_line.add_option("--batch", options_.batch, "messages of a push of one producer")
            ->check(CLI::Range(1U, 65'536U));
    }

    void run() override {
        Device const device = common_.open();
        auto const measured = run_rate(device, options_, show_progress);
        nlohmann::json env = environment(device.info());
        env["seconds"] = options_.seconds;
        env["rounds"] = options_.rounds;
        common_.print(fmt::format("{}median of {} rounds\n{}", headline(device.info()),
                                  options_.rounds, rate_table(measured)));
        common_.write({{"environment", env}, {"results", json_array(measured)}});
    }

   private:
    CommonOptions common_;
    RateOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_rate_command() { return std::make_unique<RateCommand>(); }

}  // namespace carillon::tool

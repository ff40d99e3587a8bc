// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "command/common.hpp"
#include "report/environment.hpp"
#include "rtt/rtt.hpp"

namespace carillon::tool {
namespace {

class RttCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--iterations", options_.iterations, "of each measure")
            ->check(CLI::Range(1U, 100'000'000U));
        command_line.add_option("--rounds", options_.rounds, "in which the measures take turns")
            ->check(CLI::Range(1U, 1000U));
        command_line.add_option("--capacity", options_.capacity, "slots of a ring, a power of two");
        command_line.add_option_function<std::string>(
            "--wait", [this](std::string const& name) { set_wait(name); },
            "how the CPU waits: spin, pause, yield, tpause or umwait; by default as for a kernel");
    }

    void run() override {
        options_.rounds = std::min(options_.rounds, options_.iterations);
        Device const device = common_.open();
        RttResult const result = run_rtt(device, options_, show_progress);
        nlohmann::json env = environment(device.info());
        env["iterations"] = options_.iterations;
        env["rounds"] = options_.rounds;
        env["capacity"] = options_.capacity;
        env["wait"] = to_string(result.wait);
        common_.print(fmt::format("{}round trips, {:.0f} ns of each the clock's own cost\n{}",
                                  headline(device.info()), env["clock_cost_ns"].get<double>(),
                                  latency_table(result.summaries)));
        common_.write(
            {{"environment", env}, {"results", json_array(result.summaries)}, {"sms", result.sms}});
    }

   private:
    void set_wait(std::string const& name) {
        options_.wait = wait_style(name);
        if (!options_.wait) throw CLI::ValidationError("--wait", "no such style: " + name);
    }

    CommonOptions common_;
    RttOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_rtt_command() { return std::make_unique<RttCommand>(); }

}  // namespace carillon::tool

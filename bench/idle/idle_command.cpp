// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "idle/idle.hpp"
#include "report/environment.hpp"
#include "report/idle_states.hpp"

namespace carillon::tool {
namespace {

class IdleCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--calls", options_.calls, "after a pause, of each policy")
            ->check(CLI::Range(1U, 1'000'000U));
        command_line.add_option("--pause", options_.pause_us, "before each, in microseconds")
            ->check(CLI::Range(1U, 10'000'000U));
        command_line.add_option("--blocks", options_.blocks, "that wait; 0: one an SM")
            ->check(CLI::Range(0U, 1024U));
    }

    void run() override {
        Device const device = common_.open();
        IdleReport const report = run_idle(device, options_, show_progress);
        nlohmann::json env = environment(device.info());
        env["blocks"] = report.blocks;
        env["pause_us"] = options_.pause_us;
        common_.print(fmt::format(
            "{}ns for a call: right behind another (busy), after {} us of sleep, and after as long "
            "awake, with Client::warm(); beside a bare line, whose thread spins when awake. And "
            "the "
            "power of the GPU while {} block{}\n{}{}\n",
            headline(device.info()), options_.pause_us, report.blocks,
            report.blocks == 1 ? " waits" : "s wait", idle_table(report),
            describe_idle_states(env)));
        nlohmann::json all{{"environment", env},
                           {"results", json_array(report.policies)},
                           {"line", to_json(report.line)}};
        if (report.power_without_kernel) {
            all["power_without_kernel_w"] = *report.power_without_kernel;
        }
        common_.write(all);
    }

   private:
    CommonOptions common_;
    IdleOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_idle_command() { return std::make_unique<IdleCommand>(); }

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "idle/idle.hpp"
#include "report/environment.hpp"
#include "report/idle_states.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class IdleCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        add_number(command_line, "--calls", options_.calls, 1U, 1'000'000U,
                   "time N calls after a pause with each idle policy");
        add_time(command_line, "--pause", pause_, 1us, 10s, "pause for TIME before each call");
        add_number(command_line, "--blocks", options_.blocks, 0U, 1024U,
                   "let N blocks wait; 0: one per SM");
    }

    void run() override {
        options_.pause_us = static_cast<std::uint32_t>(
            std::chrono::ceil<std::chrono::microseconds>(pause_).count());
        Device const device = common_.open_for_measurement();
        common_.print(headline("cost of waking an idle block", device.info()));
        IdleReport const report = run_idle(device, options_, show_progress);
        common_.print(fmt::format(
            "ns per call: busy, right after another call; slept, after {0} of sleep; awake, after\n"
            "{0} with Client::warm(), or of spinning for the bare line. W: the GPU's power while\n"
            "{1} block(s) wait\n{2}{3}\n{4}",
            time_text(pause_), report.blocks, idle_table(report),
            describe_idle_states(idle_states()), idle_summary(report)));
        nlohmann::json env = environment(device.info());
        env["blocks"] = report.blocks;
        env["pause_us"] = options_.pause_us;
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
    std::chrono::nanoseconds pause_ = std::chrono::microseconds(IdleOptions().pause_us);
};

}  // namespace

std::unique_ptr<Command> make_idle_command() { return std::make_unique<IdleCommand>(); }

}  // namespace carillon::tool

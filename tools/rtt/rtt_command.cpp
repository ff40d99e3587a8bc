// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "command/common.hpp"
#include "report/environment.hpp"
#include "report/idle_states.hpp"
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
        command_line
            .add_option("--user-iterations", options_.users.iterations,
                        "of each row of what users do; by default a tenth, at most 50000")
            ->check(CLI::Range(1U, 100'000'000U));
        command_line
            .add_option("--pause", pause_ms_, "before a call after a pause, in milliseconds")
            ->check(CLI::Range(0.001, 10'000.0));
        command_line.add_option_function<std::string>(
            "--wait", [this](std::string const& name) { set_wait(name); },
            "how the CPU waits: spin, pause, yield, tpause or umwait; by default as for a kernel");
    }

    void run() override {
        options_.rounds = std::min(options_.rounds, options_.iterations);
        options_.users.pause = std::chrono::nanoseconds(std::llround(1e6 * pause_ms_));
        Device const device = common_.open();
        RttResult const result = run_rtt(device, options_, show_progress);
        nlohmann::json env = environment(device.info());
        env["iterations"] = options_.iterations;
        env["rounds"] = options_.rounds;
        env["capacity"] = options_.capacity;
        env["wait"] = to_string(result.wait);
        add_users(env, result.users);
        common_.print(fmt::format("{}round trips, {:.0f} ns of each the clock's own cost\n{}{}{}\n",
                                  headline(device.info()), env["clock_cost_ns"].get<double>(),
                                  latency_table(result.summaries), users_tables(result.users),
                                  describe_idle_states(env)));
        common_.write({{"environment", env},
                       {"results", json_array(result.summaries)},
                       {"users", json_array(result.users.figures)},
                       {"sms", result.sms}});
    }

   private:
    static void add_users(nlohmann::json& env, UsersResult const& users) {
        env["user_iterations"] = users.options.iterations.value_or(0);
        env["user_rounds"] = users.options.rounds;
        env["pause_ms"] = std::chrono::duration<double, std::milli>(users.options.pause).count();
        env["profile"] = users.placed;
    }

    void set_wait(std::string const& name) {
        options_.wait = wait_style(name);
        if (!options_.wait) throw CLI::ValidationError("--wait", "no such style: " + name);
    }

    CommonOptions common_;
    RttOptions options_;
    double pause_ms_ = 3;
};

}  // namespace

std::unique_ptr<Command> make_rtt_command() { return std::make_unique<RttCommand>(); }

}  // namespace carillon::tool

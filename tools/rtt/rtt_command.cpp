// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "measure/turns.hpp"
#include "report/environment.hpp"
#include "report/idle_states.hpp"
#include "rtt/rtt.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class RttCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        add_number(command_line, "--iterations", options_.iterations, 1U, 100'000'000U,
                   "time N round trips of each kind");
        add_rounds(command_line, options_.rounds);
        add_capacity(command_line, options_.capacity);
        add_number(command_line, "--user-iterations", options_.users.iterations, 1U, 100'000'000U,
                   "time N calls in each row of the tables by use (default: a tenth of "
                   "--iterations, at most 50000)");
        add_time(command_line, "--pause", options_.users.pause, 1us, 10s,
                 "pause for TIME before each call of the table by pause");
        command_line
            .add_option_function<std::string>(
                "--wait", [this](std::string const& name) { set_wait(name); },
                "let the CPU wait for replies by this means: spin, pause, yield, tpause or umwait "
                "(default: the library's choice)")
            ->option_text("STYLE");
    }

    void run() override {
        options_.rounds = std::min(options_.rounds, options_.iterations);
        Device const device = common_.open_for_measurement();
        common_.print(headline("round trips between CPU and device", device.info()) +
                      fmt::format("{} of each kind in {} rounds; reading the clock takes {:.0f} ns "
                                  "of each\n",
                                  options_.iterations, options_.rounds, clock_cost_ns()));
        Progress const progress = show_progress;
        RttResult const result = run_rtt(device, options_, progress_of_stage(progress, 0, 2));
        common_.print(latency_table(result.summaries));
        UsersResult const users = run_users(device, options_.users.scaled(options_.iterations),
                                            progress_of_stage(progress, 1, 2));
        common_.print(fmt::format("{}\n{}\n{}", users_tables(users),
                                  describe_idle_states(idle_states()),
                                  rtt_summary(result, device.emulated())));
        if (!common_.wants_json()) return;
        nlohmann::json env = environment(device.info());
        env["iterations"] = options_.iterations;
        env["rounds"] = options_.rounds;
        env["capacity"] = options_.capacity;
        env["wait"] = to_string(result.wait);
        add_users(env, users);
        common_.write({{"environment", env},
                       {"results", json_array(result.summaries)},
                       {"users", json_array(users.figures)},
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
        if (!options_.wait) {
            throw CLI::ValidationError(
                "--wait", "unknown style '" + name + "': use spin, pause, yield, tpause or umwait");
        }
    }

    CommonOptions common_;
    RttOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_rtt_command() { return std::make_unique<RttCommand>(); }

}  // namespace carillon::tool

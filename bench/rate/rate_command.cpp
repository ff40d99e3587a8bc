// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "rate/rate.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class RateCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        add_time(command_line, "--time", time_, 1ms, 24h, "run all measures together for TIME");
        add_rounds(command_line, options_.rounds);
        add_capacity(command_line, options_.capacity);
        command_line
            .add_option("--stripe", options_.stripe,
                        "let a warp claim N slots of a shared ring at once")
            ->option_text("N");
        add_number(command_line, "--warps", options_.warps, 1U, 32U,
                   "let N warps of a block take messages");
        add_number(command_line, "--batch", options_.batch, 1U, 65'536U,
                   "push N messages at once where a thread has its own ring");
    }

    void run() override {
        options_.seconds = std::chrono::duration<double>(time_).count();
        Device const device = common_.open_for_measurement();
        common_.print(headline("message rates and costs of a push", device.info()) +
                      fmt::format("median of {} rounds\n", options_.rounds));
        auto const measured = run_rate(device, options_, show_progress);
        common_.print(rate_table(measured) + rate_summary(measured));
        nlohmann::json env = environment(device.info());
        env["seconds"] = options_.seconds;
        env["rounds"] = options_.rounds;
        common_.write({{"environment", env}, {"results", json_array(measured)}});
    }

   private:
    CommonOptions common_;
    RateOptions options_;
    std::chrono::nanoseconds time_ = time_of(RateOptions().seconds);
};

}  // namespace

std::unique_ptr<Command> make_rate_command() { return std::make_unique<RateCommand>(); }

}  // namespace carillon::tool

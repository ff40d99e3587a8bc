// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "report/environment.hpp"
#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

class SoakCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        auto* const seconds = command_line.add_option("--seconds", options_.seconds, "of the load")
                                  ->check(CLI::Range(0.001, 2'592'000.0));
        auto* const minutes =
            command_line
                .add_option_function<double>(
                    "--minutes", [this](double some) { options_.seconds = 60 * some; },
                    "instead of seconds")
                ->check(CLI::Range(0.001, 43'200.0))
                ->excludes(seconds);
        auto* const load =
            command_line.add_option("--load", options_.load_percent, "percent of the highest rate")
                ->check(CLI::Range(1U, 100U));
        auto* const channels =
            command_line.add_option("--channels", options_.channels, "each with a block")
                ->check(CLI::Range(1U, 1024U));
        auto* const lines = command_line.add_option("--lines", options_.lines, "of a message")
                                ->check(CLI::IsMember({1, 2, 16}));
        auto* const cycles =
            command_line.add_option("--cycles", cycles_, "no load: start, call and stop so often")
                ->check(CLI::Range(1U, 100'000'000U));
        for (auto* const of_a_load : {seconds, minutes, load, channels, lines}) {
            cycles->excludes(of_a_load);
        }
    }

    void run() override {
        Device const device = common_.open();
        if (cycles_ != 0) {
            CyclesResult const result = run_cycles(device, cycles_, show_progress);
            report(device, result, cycles_text(result));
        } else {
            SoakResult const result = run_soak(device, options_, show_progress);
            report(device, result, soak_text(result));
        }
    }

   private:
    template <class Result>
    void report(Device const& device, Result const& result, std::string const& text) const {
        common_.print(headline(device.info()) + text);
        common_.write(to_json(result), device.info());
        require_sound(result);
    }

    CommonOptions common_;
    SoakOptions options_;
    std::uint64_t cycles_ = 0;  // starts and stops instead of a load
};

}  // namespace

std::unique_ptr<Command> make_soak_command() { return std::make_unique<SoakCommand>(); }

}  // namespace carillon::tool

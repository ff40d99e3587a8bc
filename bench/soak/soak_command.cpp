// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "measure/interrupt.hpp"
#include "report/environment.hpp"
#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class SoakCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        auto* const time =
            add_time(command_line, "--time", time_, 1ms, 720h, "send calls for TIME");
        auto* const load = add_number(command_line, "--load", options_.load_percent, 1U, 100U,
                                      "send at N percent of the highest rate");
        auto* const channels =
            add_number(command_line, "--channels", options_.channels, 1U, 1024U,
                       "send through N channels, each with its own block (default: a few)");
        auto* const lines =
            command_line.add_option("--lines", options_.lines, "send messages of 1, 2 or 16 lines")
                ->check(CLI::IsMember({1, 2, 16}))
                ->option_text("N");
        auto* const cycles = add_number(command_line, "--cycles", cycles_, 1U, 100'000'000U,
                                        "start, call and stop a kernel N times instead")
                                 ->default_str("");
        for (auto* const of_a_load : {time, load, channels, lines}) {
            cycles->excludes(of_a_load);
        }
    }

    void run() override {
        options_.seconds = std::chrono::duration<double>(time_).count();
        Device const device = common_.open_for_measurement();
        if (cycles_ != 0) {
            common_.print(headline("starts and stops of a kernel", device.info()));
            CyclesResult const result = run_cycles(device, cycles_, show_progress);
            report(device, result, cycles_text(result));
        } else {
            common_.print(headline("calls under a long load", device.info()));
            SoakResult const result = run_soak(device, options_, show_progress);
            report(device, result, soak_text(result));
        }
    }

   private:
    template <class Result>
    void report(Device const& device, Result const& result, std::string const& text) {
        bool const early = ended_early();
        common_.print(text);
        common_.write(to_json(result), device.info());
        require_sound(result);
        common_.print(early ? "verdict: until the interrupt nothing was lost, and nothing grew\n"
                            : "verdict: nothing was lost, and nothing grew\n");
    }

    std::chrono::nanoseconds time_ = time_of(SoakOptions().seconds);
    CommonOptions common_;
    SoakOptions options_;
    std::uint64_t cycles_ = 0;  // starts and stops instead of a load
};

}  // namespace

std::unique_ptr<Command> make_soak_command() { return std::make_unique<SoakCommand>(); }

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "report/environment.hpp"
#include "verify/mapping_data.hpp"
#include "verify/verify_report.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class VerifyCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        auto* const time =
            add_time(command_line, "--time", time_, 1s, 24h, "run all tests together for TIME");
        auto* const threads =
            add_number(command_line, "--threads", options_.threads, 1U, most_verify_threads,
                       "let N threads of the CPU take part (default: one less than there are "
                       "processors, at most 8)")
                ->default_str("");
        command_line
            .add_flag("--data", data_,
                      "check instead that copies through the mapping are whole, both ways")
            ->excludes(time)
            ->excludes(threads);
    }

    void run() override {
        Device const device = common_.open_for_measurement();
        data_ ? check_data(device) : run_tests(device);
    }

   private:
    void check_data(Device const& device) {
        common_.print(headline("copies through the CPU's mapping, byte by byte", device.info()));
        std::vector<DataCheck> const checks = check_mapping_data(device, show_progress);
        common_.print(data_table(checks));
        common_.write({{"checks", json_array(checks)}}, device.info());
        require_no_failure(checks);
    }
    void run_tests(Device const& device) {
        options_.seconds = std::chrono::duration<double>(time_).count();
        options_.tell = [this](TestReport const& test) { common_.print(verify_rows(test)); };
        common_.print(headline("litmus tests of memory order", device.info()) + verify_title());
        VerifyResult const result = run_verify(device, options_, show_progress);
        common_.print(verify_rest(result) + verify_verdict(result));
        common_.write(to_json(result), device.info());
        require_no_violation(result);
    }

    std::chrono::nanoseconds time_ = time_of(VerifyOptions().seconds);
    CommonOptions common_;
    VerifyOptions options_;
    bool data_ = false;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace carillon::tool

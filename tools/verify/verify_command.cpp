// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "report/environment.hpp"
#include "verify/mapping_data.hpp"
#include "verify/verify_report.hpp"

namespace carillon::tool {
namespace {

class VerifyCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--seconds", options_.seconds, "for all tests together")
            ->check(CLI::Range(1U, 86'400U));
        command_line.add_option("--threads", options_.threads, "of the CPU's side")
            ->check(CLI::Range(1U, most_verify_threads));
        command_line.add_flag("--data", data_,
                              "only whether copies through the mapping are whole, both ways");
    }

    void run() override {
        Device const device = common_.open();
        data_ ? check_data(device) : run_tests(device);
    }

   private:
    void check_data(Device const& device) const {
        std::vector<DataCheck> const checks = check_mapping_data(device, show_progress);
        common_.print(headline(device.info()) + data_table(checks));
        common_.write({{"checks", json_array(checks)}}, device.info());
        require_no_failure(checks);
    }
    void run_tests(Device const& device) const {
        VerifyResult const result = run_verify(device, options_, show_progress);
        common_.print(headline(device.info()) + verify_table(result));
        common_.write(to_json(result), device.info());
        require_no_violation(result);
    }

    CommonOptions common_;
    VerifyOptions options_;
    bool data_ = false;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace carillon::tool

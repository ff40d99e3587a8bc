// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "report/environment.hpp"
#include "verify/report.hpp"

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
    }

    void run() override {
        Device const device = common_.open();
        VerifyResult const result = run_verify(device, options_, show_progress);
        common_.print(headline(device.info()) + verify_table(result));
        common_.write(to_json(result), device.info());
        require_no_violation(result);
    }

   private:
    CommonOptions common_;
    VerifyOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "doctor/doctor.hpp"

namespace carillon::tool {
namespace {

class DoctorCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override { common_.add_to(command_line); }

    void run() override {
        common_.json().open();
        DoctorReport const report = run_doctor(common_.selector());
        common_.print(doctor_text(report));
        common_.write(to_json(report), report.device);
        require_no_error(report);
    }

   private:
    CommonOptions common_;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace carillon::tool

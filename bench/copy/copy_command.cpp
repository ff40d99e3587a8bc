// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "command/common.hpp"
#include "copy/gdrcopy.hpp"
#include "copy/run_copy.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class CopyCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        auto* const rounds =
            command_line
                .add_option("--rounds", options_.rounds, "in which the measures take turns")
                ->check(CLI::Range(1U, 1000U));
        command_line.add_option("--largest", options_.largest, "copy, in bytes")
            ->check(CLI::Range(std::size_t{64}, std::size_t{1} << 30));
        command_line
            .add_flag("--gdrcopy", gdrcopy_,
                      "Carillon's copies alone, in the columns of gdrcopy's copylat and copybw")
            ->excludes(rounds);
    }

    void run() override {
        Device const device = common_.open();
        gdrcopy_ ? run_as_gdrcopy(device) : run_all(device);
    }

   private:
    void run_as_gdrcopy(Device const& device) const {
        std::vector<GdrcopyRow> const rows = run_gdrcopy(device, options_.largest, show_progress);
        common_.print(headline(device.info()) + gdrcopy_table(rows));
        common_.write({{"results", json_array(rows)}}, device.info());
    }
    void run_all(Device const& device) const {
        std::vector<CopyResult> const copies = run_copy(device, options_, show_progress);
        common_.print(
            fmt::format("{}copies, each until its bytes are on their way, there or here\n{}",
                        headline(device.info()), copy_table(copies)));
        if (!common_.wants_json()) return;
        nlohmann::json env = environment(device.info());
        env["rounds"] = options_.rounds;
        common_.write({{"environment", env}, {"results", json_array(copies)}});
    }

    CommonOptions common_;
    CopyOptions options_;
    bool gdrcopy_ = false;
};

}  // namespace

std::unique_ptr<Command> make_copy_command() { return std::make_unique<CopyCommand>(); }

}  // namespace carillon::tool

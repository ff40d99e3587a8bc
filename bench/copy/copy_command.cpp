// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
        auto* const rounds = add_rounds(command_line, options_.rounds);
        command_line
            .add_option("--largest", options_.largest,
                        "copy up to SIZE bytes; k, M and G are units of 1024")
            ->default_str(fmt::format("{}M", options_.largest >> 20U))
            ->transform(CLI::AsSizeValue(false))
            ->check(CLI::Range(std::size_t{64}, std::size_t{1} << 30))
            ->option_text("SIZE");
        command_line
            .add_flag("--gdrcopy", gdrcopy_,
                      "measure only Carillon's copies, and print them as gdrcopy's copylat and "
                      "copybw do")
            ->excludes(rounds);
    }

    void run() override {
        Device const device = common_.open_for_measurement();
        common_.print(headline("copies between CPU and device memory", device.info()));
        gdrcopy_ ? run_as_gdrcopy(device) : run_all(device);
    }

   private:
    void run_as_gdrcopy(Device const& device) {
        std::vector<GdrcopyRow> const rows = run_gdrcopy(device, options_.largest, show_progress);
        common_.print(gdrcopy_table(rows));
        common_.write({{"results", json_array(rows)}}, device.info());
    }
    void run_all(Device const& device) {
        common_.print("a copy ends when its bytes have left the CPU, or have arrived there\n" +
                      copy_title());
        options_.tell = [this](CopyResult const& copy) { common_.print(copy_row(copy)); };
        std::vector<CopyResult> const copies = run_copy(device, options_, show_progress);
        common_.print(copy_summary(copies));
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

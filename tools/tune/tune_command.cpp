// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <carillon/placement.hpp>

#include "carillon/cores.hpp"
#include "command/common.hpp"
#include "report/environment.hpp"
#include "tune/tune.hpp"

namespace carillon::tool {
namespace {

class TuneCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line.add_option("--seconds", options_.seconds, "at most, for all of it")
            ->check(CLI::Range(1U, 86'400U));
        command_line.add_flag("--dry-run", dry_run_, "do not keep the profile");
    }

    void run() override {
        Device const device = common_.open();
        PlacementProfile const profile = run_tune(device, options_);
        std::vector<unsigned> const near = cores_near(device.info());
        std::string const path = placement_profile_path(device.info()).string();
        if (!dry_run_) save_placement_profile(profile, path);
        common_.print(fmt::format("{}round trips of a line, one place changed at a time\n{}{} {}\n",
                                  headline(device.info()), tune_table(profile, near),
                                  dry_run_ ? "profile not saved at" : "profile saved at", path));
        nlohmann::json all = to_json(profile, near);
        all["profile"] = path;
        all["saved"] = !dry_run_;
        common_.write(all, device.info());
    }

   private:
    CommonOptions common_;
    TuneOptions options_;
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <carillon/placement.hpp>
#include <chrono>

#include "carillon/cores.hpp"
#include "command/common.hpp"
#include "command/time_option.hpp"
#include "report/environment.hpp"
#include "tune/tune.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class TuneCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        add_time(command_line, "--time", time_, 1s, 24h,
                 "measure for TIME at most, rounded up to seconds");
        command_line.add_flag("--dry-run", dry_run_, "measure, but do not save the profile");
    }

    void run() override {
        Device const device = common_.open();
        common_.print(headline("placement: round trips of a line, one place changed at a time",
                               device.info()));
        options_.seconds =
            static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time_).count());
        PlacementProfile const profile = run_tune(device, options_);
        std::vector<unsigned> const near = cores_near(device.info());
        std::string const path = placement_profile_path(device.info()).string();
        if (!dry_run_) save_placement_profile(profile, path);
        common_.print(fmt::format("{}{}profile {} {}\n", tune_table(profile, near),
                                  tune_summary(profile), dry_run_ ? "not saved to" : "saved to",
                                  path));
        nlohmann::json all = to_json(profile, near);
        all["profile"] = path;
        all["saved"] = !dry_run_;
        common_.write(all, device.info());
    }

   private:
    CommonOptions common_;
    TuneOptions options_;
    std::chrono::nanoseconds time_ = std::chrono::seconds(TuneOptions().seconds);
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace carillon::tool

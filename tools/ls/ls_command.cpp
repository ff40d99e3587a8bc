// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <carillon/error.hpp>
#include <vector>

#include "command/owner_user.hpp"
#include "ls/ls.hpp"
#include "report/environment.hpp"
#include "report/owners.hpp"

namespace carillon::tool {
namespace {

// CLI11's value of a flag that is given without a value.
constexpr char const* alone = "true";

class LsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("paths", paths_, "sockets of owners")->required();
        command_line
            .add_option("--timeout-ms", timeout_ms_,
                        "how long an owner may take to be reached, and to report")
            ->check(CLI::Range(1, 60'000))
            ->capture_default_str();
        owner_user_.add_to(command_line);
        command_line.add_flag("--json", json_,
                              "as JSON on standard output; --json=FILE: into that file");
    }

    void run() override {
        auto const user = owner_user_.number();
        std::vector<ListedOwner> const all = ask_each(paths_, [&](std::string const& path) {
            return list_owner(path, std::chrono::milliseconds(timeout_ms_), user);
        });
        nlohmann::json json = nlohmann::json::array();
        for (ListedOwner const& each : all) {
            json_.empty() ? fmt::print("{}", to_text(each)) : json.push_back(to_json(each));
        }
        if (!json_.empty()) write_json(json_ == alone ? "-" : json_, {{"owners", std::move(json)}});
        auto const failed =
            std::ranges::count_if(all, [](ListedOwner const& each) { return !each.error.empty(); });
        if (failed == 0) return;
        throw Error("ls", fmt::format("{} of {} have not answered", failed, all.size()));
    }

   private:
    std::vector<std::string> paths_;
    int timeout_ms_ = 1000;
    OwnerUser owner_user_;
    std::string json_;
};

}  // namespace

std::unique_ptr<Command> make_ls_command() { return std::make_unique<LsCommand>(); }

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <carillon/error.hpp>
#include <vector>

#include "ls/ls.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class LsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("paths", paths_, "sockets at which kernels are served")->required();
        command_line.add_option("--timeout-ms", timeout_ms_, "how long each may take to answer")
            ->check(CLI::Range(1, 60'000))
            ->capture_default_str();
        command_line.add_flag("--json", json_, "as JSON on standard output");
    }

    void run() override {
        std::vector<ListedOwner> owners;
        for (std::string const& path : paths_) {
            owners.push_back(list_owner(path, std::chrono::milliseconds(timeout_ms_)));
        }
        json_ ? write(owners) : print(owners);
        auto const failed = std::ranges::count_if(
            owners, [](ListedOwner const& each) { return !each.error.empty(); });
        if (failed == 0) return;
        throw Error("ls", fmt::format("{} of {} have not answered", failed, owners.size()));
    }

   private:
    static void write(std::vector<ListedOwner> const& owners) {
        nlohmann::json all = nlohmann::json::array();
        for (ListedOwner const& each : owners) all.push_back(to_json(each));
        write_json("-", {{"owners", std::move(all)}});
    }
    static void print(std::vector<ListedOwner> const& owners) {
        for (ListedOwner const& each : owners) fmt::print("{}", to_text(each));
    }

    std::vector<std::string> paths_;
    int timeout_ms_ = 1000;
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ls_command() { return std::make_unique<LsCommand>(); }

}  // namespace carillon::tool

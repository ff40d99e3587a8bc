// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <vector>

#include "command/json_option.hpp"
#include "command/owner_options.hpp"
#include "ls/ls.hpp"
#include "report/environment.hpp"
#include "report/owners.hpp"

namespace carillon::tool {
namespace {

class LsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        owners_.add_to(command_line);
        json_.add_to(command_line);
    }

    void run() override {
        json_.open();
        auto const user = owners_.user();
        std::vector<std::string> paths = owners_.paths();
        std::vector<ListedOwner> const all = ask_each(paths, [&](std::string const& path) {
            return list_owner(path, owners_.timeout(), user);
        });
        for (ListedOwner const& each : all) json_.print(to_text(each));
        json_.write({{"owners", json_array(all)}});
        require_answers("ls", all);
    }

   private:
    OwnerOptions owners_;
    JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_ls_command() { return std::make_unique<LsCommand>(); }

}  // namespace carillon::tool

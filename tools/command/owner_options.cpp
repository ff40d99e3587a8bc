// SPDX-License-Identifier: Apache-2.0
#include "command/owner_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <carillon/error.hpp>

#include "command/time_option.hpp"
#include "report/user_names.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

constexpr char const* user_name = "--owner-user";

}  // namespace

void OwnerOptions::add_to(CLI::App& command_line) {
    command_line.add_option("PATH", paths_, "ask the owners that listen at these sockets")
        ->required();
    add_time(command_line, "--timeout", timeout_, 1ms, 1min,
             "wait TIME for the connection to an owner, and TIME for its report");
    user_option_ = command_line
                       .add_option(user_name, user_,
                                   "ask only owners that run as this user, a name or a number "
                                   "(default: your user, and root)")
                       ->option_text("USER");
}

std::optional<std::uint32_t> OwnerOptions::user() const {
    if (user_option_->count() == 0) return {};
    return user_number(user_name, user_);
}

void require_answers(char const* call, std::size_t silent, std::size_t all) {
    if (silent == 0) return;
    throw Error(call, fmt::format("{} of {} owners did not answer", silent, all));
}

}  // namespace carillon::tool

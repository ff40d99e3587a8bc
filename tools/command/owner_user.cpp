// SPDX-License-Identifier: Apache-2.0
#include "command/owner_user.hpp"

#include <CLI/CLI.hpp>

#include "report/user_names.hpp"

namespace carillon::tool {
namespace {

constexpr char const* name = "--owner-user";

}  // namespace

void OwnerUser::add_to(CLI::App& command_line) {
    option_ = command_line.add_option(
        name, user_,
        "ask owners of this user alone, by name or number (default: this process's user, and "
        "root)");
}

std::optional<std::uint32_t> OwnerUser::number() const {
    if (option_->count() == 0) return {};
    return user_number(name, user_);
}

}  // namespace carillon::tool

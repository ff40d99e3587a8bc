// SPDX-License-Identifier: Apache-2.0
#include "command/owner_user.hpp"

#include <CLI/CLI.hpp>

#include "report/users.hpp"

namespace carillon::tool {

void OwnerUser::add_to(CLI::App& command_line) {
    command_line.add_option("--owner-user", user_,
                            "ask owners of this user alone, by name or number (default: this "
                            "process's user, and root)");
}

std::optional<std::uint32_t> OwnerUser::number() const {
    if (user_.empty()) return {};
    return user_number(user_);
}

}  // namespace carillon::tool

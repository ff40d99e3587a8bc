// SPDX-License-Identifier: Apache-2.0
// `carillon ls`: who serves kernels to other processes, and who has which of their blocks.
#pragma once

#include <carillon/connection.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"

namespace carillon::tool {

// What the owner at a path says, or why none does.
struct ListedOwner {
    std::string path;
    std::string error{};  // empty if it was asked
    ConnectedOwner owner{};
    OwnerStatus status{};
};

// `timeout`: for reaching the owner, and for its report. `user`: as ConnectOptions::owner_user.
[[nodiscard]] ListedOwner list_owner(std::string const& path, std::chrono::nanoseconds timeout,
                                     std::optional<std::uint32_t> user = {});

[[nodiscard]] std::string to_text(ListedOwner const& listed);
[[nodiscard]] nlohmann::json to_json(ListedOwner const& listed);

[[nodiscard]] std::unique_ptr<Command> make_ls_command();

}  // namespace carillon::tool

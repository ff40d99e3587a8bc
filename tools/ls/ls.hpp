// SPDX-License-Identifier: Apache-2.0
// `carillon ls`: the owners that serve kernels, objects and buffers to other processes, and their
// clients.
#pragma once

#include <carillon/connection.hpp>
#include <carillon/store.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"

namespace carillon::tool {

// The report of the owner at a path, or the reason why there is none.
struct ListedOwner {
    std::string path;
    std::string error{};  // empty if it was asked
    ConnectedOwner owner{};
    OwnerStatus status{};
    std::vector<BufferInfo> buffers{};  // of its store, if it has one
};

// `timeout`: for reaching the owner, and for its report. `user`: as ConnectOptions::owner_user.
[[nodiscard]] ListedOwner list_owner(std::string const& path, std::chrono::nanoseconds timeout,
                                     std::optional<std::uint32_t> user = {});

[[nodiscard]] std::string to_text(ListedOwner const& listed);
[[nodiscard]] nlohmann::json to_json(ListedOwner const& listed);

[[nodiscard]] std::unique_ptr<Command> make_ls_command();

}  // namespace carillon::tool

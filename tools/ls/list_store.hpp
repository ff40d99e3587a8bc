// SPDX-License-Identifier: Apache-2.0
// `carillon ls --store`: the buffers of a store.
#pragma once

#include <carillon/store.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace carillon::tool {

// What the store at a path says, or why none does.
struct ListedStore {
    std::string path;
    std::string error{};  // empty if it was asked
    ConnectedOwner owner{};
    std::vector<BufferInfo> buffers{};
};

// `timeout`: as ConnectOptions::timeout. `user`: as ConnectOptions::owner_user.
[[nodiscard]] ListedStore list_store(std::string const& path, std::chrono::nanoseconds timeout,
                                     std::optional<std::uint32_t> user = {});

[[nodiscard]] std::string to_text(ListedStore const& listed);
[[nodiscard]] nlohmann::json to_json(ListedStore const& listed);

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "ls/list_store.hpp"

#include <fmt/format.h>

namespace carillon::tool {

ListedStore list_store(std::string const& path, std::chrono::nanoseconds timeout,
                       std::optional<std::uint32_t> user) {
    try {
        Store const store(path, {.name = "carillon ls", .timeout = timeout, .owner_user = user});
        return {path, {}, store.owner(), store.list()};
    } catch (Error const& error) {
        return {path, error.what()};
    }
}

std::string to_text(ListedStore const& listed) {
    if (!listed.error.empty()) return fmt::format("{}: {}\n", listed.path, listed.error);
    std::size_t memory = 0;
    for (BufferInfo const& each : listed.buffers) memory += each.memory;
    std::string text = fmt::format(
        "{}: {}, process {} of user {}, {} buffers in {} bytes of memory\n", listed.path,
        listed.owner.name, listed.owner.process, listed.owner.user, listed.buffers.size(), memory);
    if (listed.buffers.empty()) return text;
    constexpr char const* row = "  {:>6}  {:<32} {:>14} {:<7} {:<6} {:>7} {:>10} {:>10}\n";
    text +=
        fmt::format(row, "number", "name", "bytes", "is", "memory", "holders", "made by", "user");
    for (BufferInfo const& each : listed.buffers) {
        text += fmt::format(row, each.id, each.name, each.size, each.sealed ? "sealed" : "mutable",
                            each.host_memory ? "host" : "device", each.holders, each.process,
                            each.user);
    }
    return text;
}

nlohmann::json to_json(ListedStore const& listed) {
    if (!listed.error.empty()) return {{"path", listed.path}, {"error", listed.error}};
    nlohmann::json buffers = nlohmann::json::array();
    for (BufferInfo const& each : listed.buffers) {
        buffers.push_back({{"id", each.id},
                           {"name", each.name},
                           {"bytes", each.size},
                           {"memory_bytes", each.memory},
                           {"sealed", each.sealed},
                           {"host_memory", each.host_memory},
                           {"holders", each.holders},
                           {"process", each.process},
                           {"user", each.user}});
    }
    return {{"path", listed.path},
            {"name", listed.owner.name},
            {"process", listed.owner.process},
            {"instance", listed.owner.instance},
            {"user", listed.owner.user},
            {"buffers", std::move(buffers)}};
}

}  // namespace carillon::tool

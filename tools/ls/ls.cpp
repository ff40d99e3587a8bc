// SPDX-License-Identifier: Apache-2.0
#include "ls/ls.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace carillon::tool {

ListedOwner list_owner(std::string const& path, std::chrono::nanoseconds timeout) {
    try {
        Connection const connection(path, {.name = "carillon ls", .timeout = timeout});
        return {path, {}, connection.owner(), connection.status()};
    } catch (Error const& error) {
        return {path, error.what()};
    }
}

std::string to_text(ListedOwner const& listed) {
    if (!listed.error.empty()) return fmt::format("{}: {}\n", listed.path, listed.error);
    auto const& blocks = listed.status.blocks;
    auto const lent = std::ranges::count_if(
        blocks, [](ServedBlock const& block) { return !block.client.empty(); });
    std::string text = fmt::format("{}: {}, process {}, kernel {}, {} of {} blocks lent\n",
                                   listed.path, listed.owner.name, listed.owner.process,
                                   to_string(listed.status.state), lent, blocks.size());
    if (lent != 0) {
        text += fmt::format("  {:>5}  {:<6} {:<32} {:>10} {:>10} {:>10}\n", "block", "is", "client",
                            "process", "user", "for");
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        ServedBlock const& block = blocks[i];
        if (block.client.empty()) continue;
        text +=
            fmt::format("  {:>5}  {:<6} {:<32} {:>10} {:>10} {:>10}\n", i,
                        to_string(block.activity), block.client, block.process, block.user,
                        fmt::format("{:.1f} s", std::chrono::duration<double>(block.held).count()));
    }
    return text;
}

nlohmann::json to_json(ListedOwner const& listed) {
    if (!listed.error.empty()) return {{"path", listed.path}, {"error", listed.error}};
    nlohmann::json blocks = nlohmann::json::array();
    for (ServedBlock const& block : listed.status.blocks) {
        nlohmann::json each{{"activity", to_string(block.activity)}};
        if (!block.client.empty()) {
            each["client"] = block.client;
            each["process"] = block.process;
            each["user"] = block.user;
            each["held_ms"] = block.held.count();
        }
        blocks.push_back(std::move(each));
    }
    return {{"path", listed.path},
            {"name", listed.owner.name},
            {"process", listed.owner.process},
            {"instance", listed.owner.instance},
            {"state", to_string(listed.status.state)},
            {"blocks", std::move(blocks)}};
}

}  // namespace carillon::tool

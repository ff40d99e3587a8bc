// SPDX-License-Identifier: Apache-2.0
#include "ls/ls.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "report/owners.hpp"

namespace carillon::tool {

ListedOwner list_owner(std::string const& path, std::chrono::nanoseconds timeout,
                       std::optional<std::uint32_t> user) {
    try {
        Connection const connection(
            path, {.name = "carillon ls", .timeout = timeout, .owner_user = user});
        ListedOwner listed{path, {}, connection.owner(), connection.status()};
        if (listed.status.store) listed.buffers = connection.store().list();
        return listed;
    } catch (Error const& error) {
        return {path, error.what()};
    }
}

namespace {

std::string to_text(ServedBlock const& block, std::size_t index) {
    return fmt::format("    {:>5}  {:<6} {:<32} {:>10} {:>10} {:>10} {:>12} {:>6} {:>8}\n", index,
                       to_string(block.activity), block.client, block.process, block.user,
                       fmt::format("{:.1f} s", std::chrono::duration<double>(block.held).count()),
                       block.counters.submitted, block.counters.depth, block.counters.dropped);
}

std::string to_text(ServedObject const& object) {
    auto const lent = std::ranges::count_if(
        object.blocks, [](ServedBlock const& block) { return !block.client.empty(); });
    std::string text = fmt::format("  {} ({}): ", object.name, to_string(object.kind));
    text += object.kind == ObjectKind::kernel
                ? fmt::format("{}{}, {} of {} blocks lent\n", to_string(object.state),
                              object.emulated ? " on the EMULATED device" : "", lent,
                              object.blocks.size())
                : fmt::format("{}\n", lent == 0 ? "not lent" : "lent");
    if (lent != 0) {
        text += fmt::format("    {:>5}  {:<6} {:<32} {:>10} {:>10} {:>10} {:>12} {:>6} {:>8}\n",
                            "block", "state", "client", "process", "user", "for", "sent", "depth",
                            "dropped");
    }
    for (std::size_t i = 0; i < object.blocks.size(); ++i) {
        if (!object.blocks[i].client.empty()) text += to_text(object.blocks[i], i);
    }
    return text;
}

std::string to_text(StoreStatus const& store, std::vector<BufferInfo> const& buffers) {
    std::string text = tool::to_text(store);
    if (buffers.empty()) return text;
    constexpr char const* row = "    {:>6}  {:<32} {:>14} {:<7} {:<6} {:>7} {:>10} {:>10}\n";
    text += fmt::format(row, "number", "name", "bytes", "state", "memory", "holders", "made by",
                        "user");
    for (BufferInfo const& each : buffers) {
        text += fmt::format(row, each.id, each.name, each.size, each.sealed ? "sealed" : "mutable",
                            each.host_memory ? "host" : "device", each.holders, each.process,
                            each.user);
    }
    return text;
}

nlohmann::json to_json(StoreStatus const& store, std::vector<BufferInfo> const& listed) {
    nlohmann::json json = tool::to_json(store);
    nlohmann::json& buffers = json["list"] = nlohmann::json::array();
    for (BufferInfo const& each : listed) {
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
    return json;
}

nlohmann::json to_json(ServedObject const& object) {
    nlohmann::json blocks = nlohmann::json::array();
    for (ServedBlock const& block : object.blocks) {
        nlohmann::json each{{"activity", to_string(block.activity)},
                            {"gone", tool::to_json(block.gone)},
                            {"beats", block.beats.seen}};
        if (!block.client.empty()) {
            each["client"] = block.client;
            each["process"] = block.process;
            each["user"] = block.user;
            each["held_ms"] = block.held.count();
        }
        each["counters"] = tool::to_json(block.counters);
        blocks.push_back(std::move(each));
    }
    return {{"name", object.name},
            {"kind", to_string(object.kind)},
            {"state", to_string(object.state)},
            {"emulated", object.emulated},
            {"blocks", std::move(blocks)}};
}

}  // namespace

std::string to_text(ListedOwner const& listed) {
    if (!listed.error.empty()) return fmt::format("{}: {}\n", listed.path, listed.error);
    std::string text = fmt::format("{}: {}, process {} of user {}\n", listed.path,
                                   listed.owner.name, listed.owner.process, listed.owner.user);
    for (ServedObject const& object : listed.status.objects) text += to_text(object);
    if (listed.status.store) text += to_text(*listed.status.store, listed.buffers);
    return text;
}

nlohmann::json to_json(ListedOwner const& listed) {
    if (!listed.error.empty()) return {{"path", listed.path}, {"error", listed.error}};
    nlohmann::json objects = nlohmann::json::array();
    for (ServedObject const& object : listed.status.objects) objects.push_back(to_json(object));
    nlohmann::json json{{"path", listed.path},
                        {"name", listed.owner.name},
                        {"process", listed.owner.process},
                        {"instance", listed.owner.instance},
                        {"user", listed.owner.user},
                        {"objects", std::move(objects)}};
    if (listed.status.store) json["store"] = to_json(*listed.status.store, listed.buffers);
    return json;
}

}  // namespace carillon::tool

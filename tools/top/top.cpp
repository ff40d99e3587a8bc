// SPDX-License-Identifier: Apache-2.0
#include "top/top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace carillon::tool {
namespace {

double rate_of(std::uint64_t before, std::uint64_t now, double seconds) {
    return now < before ? 0 : static_cast<double>(now - before) / seconds;
}

// The report before, where there is one of the same owner.
OwnerReport const& earlier(std::vector<OwnerReport> const& before, std::size_t index) {
    static OwnerReport const none{};
    return index < before.size() ? before[index] : none;
}

constexpr char const* row_format =
    "  {:<16} {:>5}  {:<5} {:<24} {:>8} {:>6} {:>12} {:>12} {:>14} {:>9} {:>9} {:>7}\n";

std::string title() {
    return fmt::format(row_format, "object", "block", "is", "client", "process", "depth", "sent/s",
                       "answered/s", "sent", "stalls/s", "dropped", "beats/s");
}

std::string row(WatchedBlock const& block, BlockRates const& rate) {
    ServedBlock const& served = block.served;
    return fmt::format(row_format, block.object, block.index, to_string(served.activity),
                       served.client.empty() ? "-" : served.client,
                       served.client.empty() ? "-" : std::to_string(served.process),
                       served.counters.depth, fmt::format("{:.0f}", rate.submitted),
                       fmt::format("{:.0f}", rate.answered), served.all().submitted,
                       fmt::format("{:.0f}", rate.stalls), served.all().dropped,
                       fmt::format("{:.0f}", rate.beats));
}

nlohmann::json block_json(WatchedBlock const& block, BlockRates const& rate) {
    ServedBlock const& served = block.served;
    nlohmann::json json{{"object", block.object},
                        {"kind", to_string(block.kind)},
                        {"state", to_string(block.state)},
                        {"emulated", block.emulated},
                        {"block", block.index},
                        {"activity", to_string(served.activity)},
                        {"counters", tool::to_json(served.counters)},
                        {"gone", tool::to_json(served.gone)},
                        {"beats", served.beats.seen},
                        {"per_second",
                         {{"submitted", rate.submitted},
                          {"answered", rate.answered},
                          {"stalls", rate.stalls},
                          {"beats", rate.beats}}}};
    if (!served.client.empty()) {
        json["client"] = served.client;
        json["process"] = served.process;
        json["user"] = served.user;
    }
    return json;
}

}  // namespace

std::vector<BlockRates> rates(OwnerReport const& before, OwnerReport const& now) {
    std::vector<BlockRates> all(now.blocks.size());
    double const seconds = std::chrono::duration<double>(now.when - before.when).count();
    bool const same =
        before.error.empty() && now.error.empty() && before.owner.instance == now.owner.instance;
    if (!same || seconds <= 0) return all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        // An object that gets a block, as a log with more readers does, moves those behind it.
        auto const former =
            std::ranges::find_if(before.blocks, [&block = now.blocks[i]](WatchedBlock const& was) {
                return was.object == block.object && was.index == block.index;
            });
        if (former == before.blocks.end()) continue;
        ServedBlock const& was = former->served;
        ServedBlock const& is = now.blocks[i].served;
        ChannelCounters const then = was.all();
        ChannelCounters const counters = is.all();
        all[i] = {rate_of(then.submitted, counters.submitted, seconds),
                  rate_of(then.answered, counters.answered, seconds),
                  rate_of(then.stalls, counters.stalls, seconds),
                  rate_of(was.beats.seen, is.beats.seen, seconds)};
    }
    return all;
}

std::string to_text(std::vector<OwnerReport> const& before, std::vector<OwnerReport> const& now) {
    std::string text;
    for (std::size_t i = 0; i < now.size(); ++i) {
        OwnerReport const& report = now[i];
        if (!report.error.empty()) {
            text += fmt::format("{}: {}\n", report.path, report.error);
            continue;
        }
        bool const emulated = std::ranges::any_of(report.blocks, &WatchedBlock::emulated);
        text += fmt::format("{}: {}, process {}{}\n", report.path, report.owner.name,
                            report.owner.process, emulated ? ", EMULATED device" : "");
        text += title();
        std::vector<BlockRates> const rate = rates(earlier(before, i), report);
        for (std::size_t each = 0; each < rate.size(); ++each) {
            text += row(report.blocks[each], rate[each]);
        }
        if (report.store) text += tool::to_text(*report.store);
    }
    return text;
}

nlohmann::json to_json(std::vector<OwnerReport> const& before,
                       std::vector<OwnerReport> const& now) {
    nlohmann::json owners = nlohmann::json::array();
    for (std::size_t i = 0; i < now.size(); ++i) {
        OwnerReport const& report = now[i];
        if (!report.error.empty()) {
            owners.push_back({{"path", report.path}, {"error", report.error}});
            continue;
        }
        nlohmann::json blocks = nlohmann::json::array();
        std::vector<BlockRates> const rate = rates(earlier(before, i), report);
        for (std::size_t each = 0; each < rate.size(); ++each) {
            blocks.push_back(block_json(report.blocks[each], rate[each]));
        }
        nlohmann::json owner{{"path", report.path},
                             {"name", report.owner.name},
                             {"process", report.owner.process},
                             {"instance", report.owner.instance},
                             {"blocks", std::move(blocks)}};
        if (report.store) owner["store"] = tool::to_json(*report.store);
        owners.push_back(std::move(owner));
    }
    return {{"owners", std::move(owners)}};
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tune/tune.hpp"

namespace carillon::tool {
namespace {

using nlohmann::json;

LatencySpread spread_of(std::vector<RankedProcessor> const& ranked) {
    if (ranked.empty()) return {};
    return {ranked.front().p50_ns, ranked[ranked.size() / 2].p50_ns, ranked.back().p50_ns};
}

std::string row(char const* what, LatencySpread const& spread) {
    return fmt::format("{:<18}{:>9.0f}{:>9.0f}{:>9.0f}", what, spread.best_ns, spread.median_ns,
                       spread.worst_ns);
}

bool is_near(std::vector<unsigned> const& near, unsigned core) {
    return std::find(near.begin(), near.end(), core) != near.end();
}

// The best of them, by number; near ones are marked.
std::string leaders(std::vector<RankedProcessor> const& ranked,
                    std::vector<unsigned> const& marked) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
        text += fmt::format(" {}{}", ranked[i].id, is_near(marked, ranked[i].id) ? "*" : "");
    }
    return text + (ranked.size() > most ? " ..." : "");
}

json to_json(LatencySpread const& spread) {
    return {{"best_ns", spread.best_ns},
            {"median_ns", spread.median_ns},
            {"worst_ns", spread.worst_ns}};
}

json ranks_to_json(std::vector<RankedProcessor> const& ranked) {
    json all = json::array();
    for (RankedProcessor const& each : ranked) {
        all.push_back({{"id", each.id}, {"p50_ns", each.p50_ns}});
    }
    return all;
}

}  // namespace

std::string tune_table(PlacementProfile const& profile, std::vector<unsigned> const& near) {
    std::string text =
        fmt::format("{:<18}{:>9}{:>9}{:>9}   best first\n", "p50, ns", "best", "median", "worst");
    text += fmt::format("{}  {}\n", row("SMs", spread_of(profile.sms)), leaders(profile.sms, {}));
    text += row("request pages", profile.request_pages) + '\n';
    text += row("reply pages", profile.reply_pages) + '\n';
    if (!profile.cores.empty()) {
        text += fmt::format("{}  {}\n", row("cores (* near)", spread_of(profile.cores)),
                            leaders(profile.cores, near));
    }
    return text;
}

std::string tune_summary(PlacementProfile const& profile) {
    if (profile.sms.empty()) return "";
    LatencySpread const sms = spread_of(profile.sms);
    std::string text =
        fmt::format("best: SM {}, p50 {:.2f} us ({:.2f} us at the median SM)",
                    profile.sms.front().id, sms.best_ns / 1000, sms.median_ns / 1000);
    if (!profile.cores.empty()) {
        text += fmt::format("; core {}, p50 {:.2f} us", profile.cores.front().id,
                            profile.cores.front().p50_ns / 1000);
    }
    return text + '\n';
}

json to_json(PlacementProfile const& profile, std::vector<unsigned> const& near) {
    json cores = ranks_to_json(profile.cores);
    for (json& core : cores) core["near"] = is_near(near, core["id"].get<unsigned>());
    return {{"sms", ranks_to_json(profile.sms)},
            {"request_pages", to_json(profile.request_pages)},
            {"reply_pages", to_json(profile.reply_pages)},
            {"cores", cores}};
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "top/top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "report/output.hpp"

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

using Row = std::vector<std::string>;

struct Column {
    char const* title;
    std::size_t least;  // characters
    unsigned rank;      // the column of the highest rank is dropped first; 0: never
    bool is_text = false;
};
// In the order of the cells of a row.
constexpr std::array<Column, 12> columns{{{"object", 8, 0, true},
                                          {"block", 5, 2},
                                          {"state", 5, 0, true},
                                          {"client", 8, 4, true},
                                          {"process", 7, 8},
                                          {"depth", 5, 1},
                                          {"sent/s", 8, 0},
                                          {"answered/s", 10, 3},
                                          {"sent", 8, 7},
                                          {"stalls/s", 8, 6},
                                          {"dropped", 7, 5},
                                          {"beats/s", 7, 9}}};
constexpr std::size_t gap = 2;  // before each column

std::string rate_text(double per_second) { return fmt::format("{:.0f}", per_second); }

Row title() {
    Row row;
    for (Column const& column : columns) row.emplace_back(column.title);
    return row;
}

Row row_of(WatchedBlock const& block, BlockRates const& rate) {
    ServedBlock const& served = block.served;
    bool const lent = !served.client.empty();
    return {block.object,
            std::to_string(block.index),
            std::string(to_string(served.activity)),
            lent ? served.client : "-",
            lent ? std::to_string(served.process) : "-",
            std::to_string(served.counters.depth),
            rate_text(rate.submitted),
            rate_text(rate.answered),
            std::to_string(served.all().submitted),
            rate_text(rate.stalls),
            std::to_string(served.all().dropped),
            rate_text(rate.beats)};
}

Row totals(std::vector<WatchedBlock> const& blocks, std::vector<BlockRates> const& rate) {
    std::uint64_t depth = 0;
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    BlockRates sum;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        depth += blocks[i].served.counters.depth;
        sent += blocks[i].served.all().submitted;
        dropped += blocks[i].served.all().dropped;
        sum.submitted += rate[i].submitted;
        sum.answered += rate[i].answered;
        sum.stalls += rate[i].stalls;
        sum.beats += rate[i].beats;
    }
    return {"total",
            "",
            "",
            "",
            "",
            std::to_string(depth),
            rate_text(sum.submitted),
            rate_text(sum.answered),
            std::to_string(sent),
            rate_text(sum.stalls),
            std::to_string(dropped),
            rate_text(sum.beats)};
}

// The rows below each other, without the columns for which `width` has no room.
std::string table(std::vector<Row> const& rows, std::size_t width) {
    std::array<std::size_t, columns.size()> widths{};
    std::size_t all = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        widths[i] = columns[i].least;
        for (Row const& row : rows) widths[i] = std::max(widths[i], characters(row[i]));
        all += gap + widths[i];
    }
    for (unsigned rank = columns.size(); all > width && rank > 0; --rank) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (columns[i].rank == rank) all -= gap + std::exchange(widths[i], 0);
        }
    }
    std::string text;
    for (Row const& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (widths[i] == 0) continue;
            std::string const padding(widths[i] - characters(row[i]), ' ');
            line += std::string(gap, ' ');
            line += columns[i].is_text ? row[i] + padding : padding + row[i];
        }
        text += line + '\n';
    }
    return text;
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

std::string to_text(std::vector<OwnerReport> const& before, std::vector<OwnerReport> const& now,
                    std::size_t width) {
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
        std::vector<BlockRates> const rate = rates(earlier(before, i), report);
        std::vector<Row> rows{title()};
        for (std::size_t each = 0; each < rate.size(); ++each) {
            rows.push_back(row_of(report.blocks[each], rate[each]));
        }
        if (rate.size() > 1) rows.push_back(totals(report.blocks, rate));
        text += table(rows, width);
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

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "rtt/users.hpp"

namespace carillon::tool {
namespace {

struct Table {
    std::string_view name;
    std::string_view title;
};
constexpr std::array<Table, 5> tables{
    {{"payload", "by payload: bytes of the request / bytes of the reply"},
     {"threads", "by number of threads: each has a channel and a block, or all share a pool"},
     {"capacity", "by ring capacity"},
     {"pause", "by pause: the first call after it"},
     {"requests", "requests in a row: each is sent before the last one is answered"}}};

std::string latency_columns(LatencySummary const& s) {
    if (s.count == 0) return fmt::format("{:>67}", "");
    return fmt::format("{:>10}{:>9.0f}{:>9.0f}{:>9.0f}{:>9.0f}{:>9.0f}{:>12.0f}", s.count, s.min_ns,
                       s.p50_ns, s.p90_ns, s.p99_ns, s.p999_ns, s.max_ns);
}

std::string row_of(UsersFigure const& figure) {
    if (!figure.why_not.empty()) {
        return fmt::format("{:<24}  not measured: {}\n", figure.name, figure.why_not);
    }
    return fmt::format(
        "{:<24}{}{}\n", figure.name, latency_columns(figure.latency),
        figure.rounds.empty() ? std::string() : fmt::format("{:>9.2f}", figure.per_second() / 1e6));
}

}  // namespace

nlohmann::json to_json(UsersFigure const& figure) {
    nlohmann::json json = figure.fields.is_object() ? figure.fields : nlohmann::json::object();
    json["table"] = figure.table;
    json["name"] = figure.name;
    if (!figure.why_not.empty()) json["why_not"] = figure.why_not;
    if (figure.latency.count != 0) {
        nlohmann::json latency = to_json(figure.latency);
        latency.erase("quantiles_ns");  // of so many rows; no plot uses them
        json.update(latency);
    }
    if (!figure.rounds.empty()) {
        json["per_second"] = figure.per_second();
        json["per_second_min"] = figure.rounds.front();
        json["per_second_max"] = figure.rounds.back();
    }
    return json;
}

std::string users_tables(UsersResult const& result) {
    if (result.figures.empty()) return "";
    std::string text = fmt::format("\nround trips by use, with default options{}, in {} rounds\n",
                                   result.placed ? " and this device's placement profile" : "",
                                   result.options.rounds);
    for (Table const& table : tables) {
        if (std::ranges::find(result.figures, table.name, &UsersFigure::table) ==
            result.figures.end()) {
            continue;  // an interrupt came before it
        }
        text += fmt::format("\n{}\n{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}\n", table.title,
                            "ns", "count", "min", "p50", "p90", "p99", "p99.9", "max", "M/s");
        for (UsersFigure const& each : result.figures) {
            if (each.table == table.name) text += row_of(each);
        }
    }
    return text;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// How the tallies of a replay are shown.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "examples/replay/replay.hpp"

namespace carillon::example {
namespace {

struct Count {
    char const* name;
    std::uint64_t value;
};

[[nodiscard]] std::array<Count, 8> counts(MboTally const& tally) {
    return {{{"add", tally.add},
             {"cancel", tally.cancel},
             {"modify", tally.modify},
             {"trade", tally.trade},
             {"fill", tally.fill},
             {"clear", tally.clear},
             {"none", tally.none},
             {"contracts_traded", tally.contracts_traded}}};
}

[[nodiscard]] std::string hex(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

[[nodiscard]] std::string row(char const* name, std::string const& device,
                              std::string const& host) {
    return fmt::format("{:<16}  {:>16}  {:>16}{}\n", name, device, host,
                       device == host ? "" : "  differ");
}

[[nodiscard]] std::string type_name(unsigned type) { return fmt::format("{:#04x}", type); }

}  // namespace

std::string skipped_text(dbn::Skipped const& skipped) {
    std::string text;
    for (auto const& [type, count] : skipped) {
        text += fmt::format("skipped: {} records of type {}\n", count, type_name(type));
    }
    return text;
}

nlohmann::json to_json(dbn::Skipped const& skipped) {
    nlohmann::json json = nlohmann::json::object();
    for (auto const& [type, count] : skipped) json[type_name(type)] = count;
    return json;
}

nlohmann::json to_json(MboTally const& tally) {
    nlohmann::json json;
    for (auto const& [name, value] : counts(tally)) json[name] = value;
    json["checksum"] = hex(tally.checksum);
    return json;
}

std::string tally_table(MboTally const& device, MboTally const& host) {
    std::string table = fmt::format("{:<16}  {:>16}  {:>16}\n", "", "device", "host");
    auto const on_device = counts(device);
    auto const on_host = counts(host);
    for (std::size_t i = 0; i < on_device.size(); ++i) {
        table += row(on_device[i].name, fmt::to_string(on_device[i].value),
                     fmt::to_string(on_host[i].value));
    }
    return table + row("checksum", hex(device.checksum), hex(host.checksum));
}

}  // namespace carillon::example

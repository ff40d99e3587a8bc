// SPDX-License-Identifier: Apache-2.0
// What `carillon replay` runs on the device: every record is a command, every reply the tally of
// all commands so far.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"

namespace carillon::tool {

// What an order was done to, in the feed's letters.
enum class Action : char {
    add = 'A',
    cancel = 'C',
    modify = 'M',
    trade = 'T',
    fill = 'F',
    clear = 'R',
};

// A record of the feed without ts_recv. No byte of it is padding: it is sent as it lies in memory.
struct MboCommand {
    std::uint64_t ts_event;  // ns since 1970
    std::uint64_t order_id;
    std::int64_t price;  // 1e-9
    std::uint32_t instrument;
    std::uint32_t size;
    std::int32_t ts_in_delta;
    std::uint32_t sequence;
    std::uint16_t publisher;
    std::uint8_t flags;
    std::uint8_t channel;
    Action action;
    char side;  // A ask, B bid, N none
    std::uint16_t unused = 0;
};
static_assert(sizeof(MboCommand) == 48);
static_assert(std::has_unique_object_representations_v<MboCommand>);

struct MboTally {
    std::uint32_t add = 0;
    std::uint32_t cancel = 0;
    std::uint32_t modify = 0;
    std::uint32_t trade = 0;
    std::uint32_t fill = 0;
    std::uint32_t clear = 0;
    std::uint64_t contracts_traded = 0;  // sum of the sizes of trades
    std::uint64_t checksum = 0;          // mix_fields() over all records, in order

    // How many records it is the tally of.
    [[nodiscard]] CARILLON_HD std::uint64_t records() const {
        return std::uint64_t{add} + cancel + modify + trade + fill + clear;
    }
    bool operator==(MboTally const&) const = default;
};
static_assert(sizeof(MboTally) == 40);
static_assert(std::has_unique_object_representations_v<MboTally>);

// The step of a checksum that depends on the order of what it is given.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t mix(std::uint64_t checksum, std::uint64_t word) {
    checksum = (checksum ^ word) * 0x9e3779b97f4a7c15U + 1;
    return checksum ^ (checksum >> 32U);
}

[[nodiscard]] CARILLON_HD constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
    return low | (std::uint64_t{high} << 32U);
}

// Mixes in every field that a command has. `Fields` is MboCommand on the device and, in the host's
// pass, the record, so that it does not depend on how commands are made.
template <class Fields>
[[nodiscard]] CARILLON_HD constexpr std::uint64_t mix_fields(std::uint64_t checksum,
                                                             Fields const& fields) {
    auto const flags = std::uint32_t{fields.flags} << 16U;
    auto const channel = std::uint32_t{fields.channel} << 24U;
    auto const action = std::uint32_t{static_cast<std::uint8_t>(fields.action)};
    auto const side = std::uint32_t{static_cast<std::uint8_t>(fields.side)} << 8U;
    checksum = mix(checksum, fields.ts_event);
    checksum = mix(checksum, fields.order_id);
    checksum = mix(checksum, static_cast<std::uint64_t>(fields.price));
    checksum = mix(checksum, join(fields.instrument, fields.size));
    checksum = mix(checksum, join(static_cast<std::uint32_t>(fields.ts_in_delta), fields.sequence));
    return mix(checksum, join(fields.publisher | flags | channel, action | side));
}

// The handler. Its state is the reply.
struct TallyRecords {
    MboTally tally{};

    CARILLON_HD MboTally operator()(MboCommand const& command) {
        switch (command.action) {
            case Action::add:
                ++tally.add;
                break;
            case Action::cancel:
                ++tally.cancel;
                break;
            case Action::modify:
                ++tally.modify;
                break;
            case Action::fill:
                ++tally.fill;
                break;
            case Action::clear:
                ++tally.clear;
                break;
            case Action::trade:
                ++tally.trade;
                tally.contracts_traded += command.size;
                break;
        }
        tally.checksum = mix_fields(tally.checksum, command);
        return tally;
    }
};

}  // namespace carillon::tool

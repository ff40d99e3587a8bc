// SPDX-License-Identifier: Apache-2.0
// The handler of the replay example: every record is a command, every reply is the tally of all
// records so far.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"
#include "examples/dbn/mbo.hpp"

namespace carillon::example {

using dbn::Action;
using dbn::MboRecord;

struct MboTally {
    std::uint32_t add = 0;
    std::uint32_t cancel = 0;
    std::uint32_t modify = 0;
    std::uint32_t trade = 0;
    std::uint32_t fill = 0;
    std::uint32_t clear = 0;
    std::uint64_t none = 0;              // of 8 bytes: the tally has no padding
    std::uint64_t contracts_traded = 0;  // sum of the sizes of trades
    std::uint64_t checksum = 0;          // mix_record() over all records, in order

    // How many records it is the tally of.
    [[nodiscard]] CARILLON_HD std::uint64_t records() const {
        return std::uint64_t{add} + cancel + modify + trade + fill + clear + none;
    }
    bool operator==(MboTally const&) const = default;
};
static_assert(sizeof(MboTally) == 48);
static_assert(std::has_unique_object_representations_v<MboTally>);

// The next value of a checksum that depends on the order of its inputs.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t mix(std::uint64_t checksum, std::uint64_t word) {
    checksum = (checksum ^ word) * 0x9e3779b97f4a7c15U + 1;
    return checksum ^ (checksum >> 32U);
}

// Mixes in every byte of a record, in words of 8.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t mix_record(std::uint64_t checksum,
                                                             MboRecord const& record) {
    struct Words {
        std::uint64_t word[sizeof(MboRecord) / sizeof(std::uint64_t)];
    };
    for (std::uint64_t const word : __builtin_bit_cast(Words, record).word) {
        checksum = mix(checksum, word);
    }
    return checksum;
}

// The handler. Its state is the reply.
struct TallyRecords {
    MboTally tally{};

    CARILLON_HD MboTally operator()(MboRecord const& record) {
        switch (record.action) {
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
            case Action::none:
                ++tally.none;
                break;
            case Action::trade:
                ++tally.trade;
                tally.contracts_traded += record.size;
                break;
        }
        tally.checksum = mix_record(tally.checksum, record);
        return tally;
    }
};

}  // namespace carillon::example

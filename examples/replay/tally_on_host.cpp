// SPDX-License-Identifier: Apache-2.0
// The host's side of the comparison: it shares no counting with the handler.
#include <fmt/format.h>

#include <algorithm>

#include "carillon/error.hpp"
#include "examples/replay/replay.hpp"

namespace carillon::example {

MboTally tally_on_host(std::span<MboRecord const> records) {
    auto const count = [&](Action action) {
        return static_cast<std::uint32_t>(std::ranges::count(
            records, action, [](MboRecord const& record) { return record.action; }));
    };
    MboTally tally{.add = count(Action::add),
                   .cancel = count(Action::cancel),
                   .modify = count(Action::modify),
                   .trade = count(Action::trade),
                   .fill = count(Action::fill),
                   .clear = count(Action::clear),
                   .none = count(Action::none)};
    for (MboRecord const& record : records) {
        if (record.action == Action::trade) tally.contracts_traded += record.size;
        tally.checksum = mix_record(tally.checksum, record);
    }
    return tally;
}

void require_reply_to(std::size_t sent, MboTally const& reply) {
    if (reply.records() == sent) return;
    throw Error("replay", fmt::format("the reply to command {} is a tally of {} records", sent,
                                      reply.records()));
}

}  // namespace carillon::example

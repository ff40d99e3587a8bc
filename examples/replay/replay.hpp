// SPDX-License-Identifier: Apache-2.0
// Sends a recorded feed to a persistent kernel: one command for each record, the whole record.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "carillon/device.hpp"
#include "examples/dbn/dbn.hpp"
#include "examples/replay/tally.hpp"
#include "measure/progress.hpp"

namespace carillon::example {

struct ReplayOptions {
    std::chrono::nanoseconds call_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after this time; 0: it lasts as long as the file.
    std::chrono::nanoseconds lifetime{0};
};

struct ReplayResult {
    std::size_t records = 0;
    MboTally device;                          // the reply to the last command
    MboTally host;                            // the host's own pass over the file
    std::vector<std::uint32_t> latencies_ns;  // of every call, in order
};

// `progress` is called now and then between two calls, and at the end. Throws Error when a reply
// does not fit its command, and what PersistentKernel and Channel::call throw. The caller compares
// the two tallies.
[[nodiscard]] ReplayResult run_replay(Device const& device, dbn::MboFile const& file,
                                      ReplayOptions const& options = {},
                                      tool::Progress const& progress = {});

// The tally that the device should come to, counted from the records themselves.
[[nodiscard]] MboTally tally_on_host(std::span<MboRecord const> records);

// Throws Error unless `reply` is a tally of `sent` records: one was lost, repeated or overtaken.
void require_reply_to(std::size_t sent, MboTally const& reply);

// Keys add, cancel, modify, trade, fill, clear, contracts_traded (numbers) and checksum (a string
// of 16 hexadecimal digits: not every reader of JSON keeps 64 bits of a number).
[[nodiscard]] nlohmann::json to_json(MboTally const& tally);

// A line for each type of record that was skipped; empty if there is none.
[[nodiscard]] std::string skipped_text(dbn::Skipped const& skipped);
// The type, as "0x17", to the number of records of it.
[[nodiscard]] nlohmann::json to_json(dbn::Skipped const& skipped);

// A table for people: a line for each key, the device's value beside the host's, and a mark where
// they differ.
[[nodiscard]] std::string tally_table(MboTally const& device, MboTally const& host);

}  // namespace carillon::example

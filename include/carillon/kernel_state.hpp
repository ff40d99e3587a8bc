// SPDX-License-Identifier: Apache-2.0
// States and counters that kernels, clients and connections report (docs/dev/protocol.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// The state of a kernel.
enum class KernelState : std::uint8_t {
    starting,  // not every block runs yet
    running,
    draining,  // takes no more requests, and answers the accepted ones
    stopped,   // every block has returned, or will soon after a stop
    failed,    // an error of the device or a handler ended it: running() throws it
};
[[nodiscard]] std::string_view to_string(KernelState state);  // its name, such as "running"

// The state of a block.
enum class BlockActivity : std::uint8_t {
    idle,   // polls, and finds no requests
    busy,   // has requests
    stuck,  // has served one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);  // its name, such as "idle"

// Counts of one channel since it was made or leased. Its client writes all of them except
// `answered`, so display counts of another process but never rely on them. They are taken at about
// one moment, and are exact if no request is outstanding.
struct ChannelCounters {
    std::uint64_t submitted = 0;  // requests sent
    std::uint64_t answered = 0;   // requests whose reply the kernel has written
    std::uint64_t taken = 0;      // replies taken out of the reply ring
    // Requests whose reply nobody gets: given up (`Client::abandon`, calls that timed out), or
    // outstanding when a client of another process left. Replies that were taken out of the ring
    // but not yet requested do not count: the Client keeps them.
    std::uint64_t dropped = 0;
    std::uint64_t stalls = 0;  // requests, or rows of requests, that found the ring full
    std::uint32_t depth = 0;   // outstanding requests, with those whose reply is still in the ring
    bool operator==(ChannelCounters const&) const = default;
};

// The heartbeats of a block. A block that polls, or serves short requests, sends one about every
// millisecond; during a long request it sends none.
struct BlockBeats {
    std::uint64_t seen = 0;           // counted by the kernel's process, every 25 ms
    std::chrono::nanoseconds age{0};  // time since the count last changed
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The states of a kernel and of its blocks, and counts of a channel's messages
// (docs/dev/protocol.md).
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
    stopped,   // every block has returned, or is about to after a stop
    failed,    // an error of the device or of a handler ended it: running() throws that error
};
[[nodiscard]] std::string_view to_string(KernelState state);  // its name, such as "running"

// The state of a block.
enum class BlockActivity : std::uint8_t {
    idle,   // looks for requests and finds none
    busy,   // has requests
    stuck,  // has served one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);  // its name, such as "idle"

// Counts of one channel, since it was made or lent. Its client keeps all of them but `answered`:
// show those of another process, but never rely on them. The numbers are of about one moment; they
// are exact if no request is outstanding.
struct ChannelCounters {
    std::uint64_t submitted = 0;  // requests sent
    std::uint64_t answered = 0;   // requests whose reply the kernel has written
    std::uint64_t taken = 0;      // replies that were taken out of the reply ring
    // Requests whose reply nobody gets: given up (Client::abandon, and calls that timed out), or
    // outstanding when a client of another process went. A reply that was taken out of the ring but
    // not yet asked for is not among them: its Client keeps it.
    std::uint64_t dropped = 0;
    std::uint64_t stalls = 0;  // requests, or rows of requests, that met a full ring
    std::uint32_t depth = 0;   // outstanding now: sent, and the reply still in the ring
    bool operator==(ChannelCounters const&) const = default;
};

// The heartbeats of a block. A block that looks for work, or serves in short steps, beats about
// every millisecond; a block that serves a long request does not beat.
struct BlockBeats {
    std::uint64_t seen = 0;           // counted by the kernel's process, which looks every 25 ms
    std::chrono::nanoseconds age{0};  // time since the count last changed
};

}  // namespace carillon

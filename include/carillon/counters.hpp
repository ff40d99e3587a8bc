// SPDX-License-Identifier: Apache-2.0
// Counts of a channel's messages so far, for monitoring (docs/ipc.md).
#pragma once

#include <chrono>
#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

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

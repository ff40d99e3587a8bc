// SPDX-License-Identifier: Apache-2.0
// What has gone through a channel so far: for watching (docs/ipc.md).
#pragma once

#include <chrono>
#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// Of one channel, since it was made or lent. What its client counts itself, all but `answered`, is
// as true as that client: of another process's to be shown, never to be relied on. Numbers are of
// about one moment; where nothing is under way they are exact.
struct ChannelCounters {
    std::uint64_t submitted = 0;  // requests sent
    std::uint64_t answered = 0;   // requests whose reply the kernel has written
    std::uint64_t taken = 0;      // replies that have left the reply ring
    // Requests whose reply nobody gets: given up (Client::abandon, and calls that timed out), or
    // under way when a client of another process went. A reply that has left the ring and that
    // nobody asks its Client for is not among them: it is kept for whoever will.
    std::uint64_t dropped = 0;
    std::uint64_t stalls = 0;  // requests, or rows of them, that met a full ring
    std::uint32_t depth = 0;   // under way now: sent, and the reply still in the ring
};

// The heartbeats of a block: a block that looks for work, or serves in short steps, beats about
// every millisecond; one that is at a long request does not.
struct BlockBeats {
    std::uint64_t seen = 0;  // by the process that owns the kernel, which looks every 25 ms
    std::chrono::nanoseconds age{0};  // for how long it has seen no other
};

}  // namespace carillon

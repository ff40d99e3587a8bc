// SPDX-License-Identifier: Apache-2.0
// Counters of a channel, read from the words that its client writes.
#pragma once

#include "carillon/counters.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

namespace carillon::detail {

// For a leased place: the present client's counts, and the sum of all former ones.
struct LeasedCounters {
    ChannelCounters now;
    ChannelCounters gone;
};

// Counts the messages of the channel with this reply ring, in host memory, and these words: from
// any thread and any process that has that memory. If the client writes garbage there the result is
// garbage, but the number of lines that are looked at is bounded. If any block serves, `answered`
// counts the replies before the first missing one, although later ones may be there.
[[nodiscard]] ChannelCounters read_counters(RingView const& replies, CounterWords& words,
                                            ServedBy served_by = ServedBy::one_block);

// The number of the last message before the first one that is missing, behind number `taken`. Looks
// at some of the slots.
[[nodiscard]] Sequence last_arrived(HostCached const& near, RingView const& ring, Sequence taken);

// The sum after the client of `gone` has left: its outstanding requests count as dropped.
[[nodiscard]] ChannelCounters with_gone(ChannelCounters sum, ChannelCounters const& gone);

}  // namespace carillon::detail

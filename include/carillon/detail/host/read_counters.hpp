// SPDX-License-Identifier: Apache-2.0
// Counters of a channel, read from the words that its client writes.
#pragma once

#include "carillon/counters.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/counter_words.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

namespace carillon::detail {

// Of what is lent to one client after another: what that counts which has it, and all before.
struct LeasedCounters {
    ChannelCounters now;
    ChannelCounters gone;
};

// What has gone through the channel with this ring of replies, in host memory, and these words:
// from any thread, and from any process that has that memory. Of a client that writes garbage
// there it is garbage; a bounded number of lines is looked at, whatever they say. Where any block
// serves, `answered` are those ahead of the first that is not, which replies behind it may be.
[[nodiscard]] ChannelCounters read_counters(RingView const& replies, CounterWords& words,
                                            ServedBy served_by = ServedBy::one_block);

// The number of the last message ahead of the first that is not in its slot, behind number `taken`:
// of so many slots, some of which are looked at.
[[nodiscard]] Sequence last_arrived(HostCached const& near, RingView const& ring, Sequence taken);

// Both together, as when the client of the second has gone: what was under way is dropped then.
[[nodiscard]] ChannelCounters with_gone(ChannelCounters sum, ChannelCounters const& gone);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Reads a channel's counters from the words that its client writes, for monitors.
#pragma once

#include <cstdint>
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/kernel_state.hpp"

#include "carillon/detail/protocol/channel_view.hpp"

namespace carillon::detail {

// For a leased place: the present client's counts, and the sum of all earlier ones.
struct LeasedCounters {
    ChannelCounters now;
    ChannelCounters gone;
};

// Counts the messages of the channel with this reply ring, in host memory, and these words: from
// any thread and any process that has that memory. If the client writes garbage there, the result
// is garbage, but the number of lines looked at is bounded. If any block serves, `answered` counts
// the replies before the first missing one, although later ones may be there.
[[nodiscard]] ChannelCounters read_counters(RingView const& replies, CounterWords& words,
                                            ServedBy served_by = ServedBy::one_block);

// The last message before the first missing one behind number `taken`. Looks at some slots.
[[nodiscard]] Sequence last_arrived(HostCached const& near, RingView const& ring, Sequence taken);

// The sum after the client of `gone` has left: its outstanding requests count as dropped.
[[nodiscard]] ChannelCounters with_gone(ChannelCounters sum, ChannelCounters const& gone);

// Checks whether a client of another process follows the protocol, by its own count of requests,
// for one lease. The client may write anything there at any time. A client of the library never
// fails two looks in a row: each number only grows, a request comes before its reply, and no more
// requests are outstanding than there are slots. The numbers are read at different moments, so only
// a difference that this cannot explain is a fault.
class CounterWatch {
   public:
    // Begins again, with no messages so far.
    void begin(Sequence first) { *this = CounterWatch(first - 1); }
    // The fault, for people; nullptr if there is none, or if it is the first time.
    [[nodiscard]] char const* look(CounterWords& words, std::uint32_t capacity);
    // Checks numbers that were read in this order while the client went on.
    struct Read {
        Sequence taken;
        Sequence submitted;
        Sequence taken_later;
    };
    [[nodiscard]] char const* look(Read const& read, std::uint32_t capacity);

    CounterWatch() = default;

   private:
    explicit CounterWatch(Sequence before) : submitted_(before), taken_(before) {}
    [[nodiscard]] char const* wrong(Read const& read, std::uint32_t capacity);

    Sequence submitted_ = 0;  // the highest seen so far
    Sequence taken_ = 0;
    bool suspected_ = false;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The counters and replies of a client of another process, which writes anything into them: the
// counts that the owner shows, and whether the owner ends the client.
#include <array>

#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t counted_slots = 8;

// Numbers of any size, and numbers that are nearly right.
Sequence number(Input& input, Sequence near) {
    return input.below(2) == 0 ? input.take<Sequence>() : near + input.below(2 * counted_slots);
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(counters, input) {
    std::array<Line, counted_slots> lines{};
    std::uint64_t credit = 0;
    Sequence const first = Sequence{1} + input.take<std::uint32_t>();
    RingView const replies{lines.data(), &credit, counted_slots, first};
    format_ring(replies);
    CounterWords words = no_counts(first);
    detail::CounterWatch watch;
    watch.begin(first);
    while (!input.empty()) {
        words.submitted = number(input, first);
        words.taken = number(input, first);
        words.stalls = input.take<std::uint64_t>();
        lines[input.below(counted_slots)] = input.take<Line>();
        for (ServedBy const served_by : {ServedBy::one_block, ServedBy::any_block}) {
            ChannelCounters const counters = detail::read_counters(replies, words, served_by);
            require(counters.depth <= counted_slots, "no more is under way than there are slots");
            require(counters.answered - counters.taken <= counters.depth,
                    "no more is answered than is under way");
        }
        (void)watch.look(words, counted_slots);
    }
    // A client that counts rightly is never ended, whatever another client did before.
    watch.begin(first);
    words = no_counts(first);
    for (Sequence i = 0; i != 2 * counted_slots; ++i) {
        words.submitted = first + i;
        if (i >= counted_slots) words.taken = first + i - counted_slots;
        require(watch.look(words, counted_slots) == nullptr, "who keeps to it is not ended");
    }
}

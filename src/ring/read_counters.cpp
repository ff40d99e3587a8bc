// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/read_counters.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/kernel_state.hpp"

namespace carillon::detail {
namespace {

bool is_there(HostCached const& near, RingView const& ring, Sequence number) {
    std::uint64_t const* const word = &ring.slot(number)->quads[0].high;
    return Quad{0, near.load_word(word)}.tag() == tag_of(number);
}

// The last one of `depth` messages behind number `taken` that is in its slot. They come in order,
// so most slots are not looked at: their lines stay in other caches.
Sequence last_of(HostCached const& near, RingView const& ring, Sequence taken,
                 std::uint32_t depth) {
    std::uint32_t there = 0;
    for (std::uint32_t most = depth; there < most;) {
        std::uint32_t const middle = there + (most - there + 1) / 2;
        if (is_there(near, ring, taken + middle)) {
            there = middle;
        } else {
            most = middle - 1;
        }
    }
    return taken + there;
}

// For replies that come in any order: the last one before the first that is missing. If very many
// are untaken, some are counted later.
Sequence last_in_a_row(RingView const& replies, Sequence taken, std::uint32_t depth) {
    constexpr std::uint32_t most = 4096;
    std::uint32_t there = 0;
    while (there < std::min(depth, most) && is_there(HostCached(), replies, taken + there + 1))
        ++there;
    return taken + there;
}

// Acquire: later loads come after it.
Sequence load_first(Sequence& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

ChannelCounters read_counters(RingView const& replies, CounterWords& words, ServedBy served_by) {
    // In this order: no reply is taken whose request is not counted yet.
    Sequence const taken = CounterWords::load(words.taken);
    Sequence const submitted = CounterWords::load(words.submitted);
    Sequence const before = replies.first - 1;
    auto const under_way = static_cast<std::int64_t>(submitted - taken);
    ChannelCounters counters;
    counters.depth = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(under_way, 0, std::int64_t{replies.capacity}));
    counters.submitted = submitted - before;
    counters.taken = taken - before;
    bool const in_order = served_by == ServedBy::one_block;
    counters.answered = (in_order ? last_of(HostCached(), replies, taken, counters.depth)
                                  : last_in_a_row(replies, taken, counters.depth)) -
                        before;
    counters.stalls = CounterWords::load(words.stalls);
    counters.dropped = CounterWords::load(words.dropped);
    return counters;
}

Sequence last_arrived(HostCached const& near, RingView const& ring, Sequence taken) {
    return last_of(near, ring, taken, ring.capacity);
}

ChannelCounters with_gone(ChannelCounters sum, ChannelCounters const& gone) {
    sum.submitted += gone.submitted;
    sum.answered += gone.answered;
    sum.taken += gone.taken;
    sum.dropped += gone.dropped + gone.depth;
    sum.stalls += gone.stalls;
    return sum;
}

// `taken` is read before `submitted`, since a reply is taken after its request was sent, and again
// after it, since requests are sent into the room that replies have left meanwhile.
char const* CounterWatch::look(CounterWords& words, std::uint32_t capacity) {
    Sequence const taken = load_first(words.taken);
    Sequence const submitted = load_first(words.submitted);
    return look({taken, submitted, load_first(words.taken)}, capacity);
}

char const* CounterWatch::look(Read const& read, std::uint32_t capacity) {
    char const* const found = wrong(read, capacity);
    bool const before = std::exchange(suspected_, found != nullptr);
    return before ? found : nullptr;
}

char const* CounterWatch::wrong(Read const& read, std::uint32_t capacity) {
    auto const [taken, submitted, taken_later] = read;
    bool const backwards = submitted < submitted_ || taken < taken_ || taken_later < taken;
    submitted_ = std::max(submitted_, submitted);
    taken_ = std::max(taken_, taken_later);
    if (backwards) return "its count of requests runs backwards";
    if (taken > submitted) return "it has taken more replies than it has sent requests";
    if (submitted > taken_later && submitted - taken_later > capacity) {
        return "it has more requests outstanding than there are slots";
    }
    return nullptr;
}

}  // namespace carillon::detail

namespace carillon {

std::string_view to_string(KernelState state) {
    static constexpr std::array<std::string_view, 5> names{"starting", "running", "draining",
                                                           "stopped", "failed"};
    return names.at(static_cast<std::size_t>(state));
}

std::string_view to_string(BlockActivity activity) {
    static constexpr std::array<std::string_view, 4> names{"idle", "busy", "stuck", "ended"};
    return names.at(static_cast<std::size_t>(activity));
}

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// What an access policy is. A policy is how one side touches memory; the ring, the channel and
// everything above are written against these concepts only, and every fence, intrinsic and line of
// PTX of the project is inside a policy.
//
// To add a policy, write a small copyable class that models NearAccess, FarAccess or both, and
// instantiate Producer and Consumer with it. It may carry state. The ones below are templates over
// the instructions of a machine (X86, DeviceInstructions): to run their discipline on another, a
// simulated bus say, give them a class like those.
//
//   policy        side                      near               far
//   HostCached    CPU on host memory        16-byte loads      -
//   HostMapped    CPU on mapped GPU memory  -                  widest store, store fence, flush
//   DeviceNear    GPU on its own memory     16-byte, acquire   -
//   DeviceFar     GPU on host memory        -                  16-byte, relaxed
//   DeviceBulkFar the same, one thread      -                  lines and rows as one write
// HostCached and DeviceNear also claim; HostCached tells, DeviceNear looks at pairs, and
// keeps loads whole. DeviceFar stores single quads too.
// The Device policies, compiled for a CPU, are the emulated device's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Memory of which this side polls words.
template <class P>
concept WordAccess = std::copyable<P> && requires(P policy, std::uint64_t const* word) {
    // An acquire load of one word.
    { policy.load_word(word) } -> std::same_as<std::uint64_t>;
};

// Memory of which it polls lines too.
template <class P>
concept NearAccess = WordAccess<P> && requires(P policy, Line const* line, std::size_t quads) {
    // The first `quads` of its quads, untorn; what was complete before the line was published is
    // visible after a load that found all of their tags. On non-coherent memory the load is
    // preceded by an invalidate.
    { policy.load_line(line, quads) } -> std::same_as<Line>;
    // The same for a line that is not the last of those that are loaded together: its load orders
    // nothing, that of the last one does, for all that were loaded before it.
    { policy.load_line_ahead(line, quads) } -> std::same_as<Line>;
};

// How many looks in vain take longer than a round trip, so that nothing comes as it seems. A CPU
// looks that much more often than a GPU: its policies say so.
template <class P>
inline constexpr std::uint32_t looks_within_a_trip = 64;

// Near memory of a machine whose compiler is to be told, after a poll, that all of what was loaded
// is wanted: otherwise one load of the poll may wait for another.
template <class P>
concept KeepAccess = NearAccess<P> && requires(P policy, Quad const* quads, Line* lines) {
    policy.keep_whole(quads, std::size_t{1});
    // Lines that are too many for registers are not to be spilled piece by piece.
    policy.keep_in_memory(lines);
};

// That. To be called on any path from a poll on: best where no message waits, and seldom, such as
// after many polls that found nothing.
CARILLON_POLICY_CODE
template <NearAccess Near>
CARILLON_HD void keep_whole([[maybe_unused]] Near const& near, [[maybe_unused]] Quad const* quads,
                            [[maybe_unused]] std::size_t count) {
    if constexpr (KeepAccess<Near>) near.keep_whole(quads, count);
}

// Near memory of which the lanes of a group load a message together, some quads each.
template <class P>
concept NearQuadAccess = NearAccess<P> && requires(P policy, Quad const* quad) {
    // Untorn; what was complete before the message was published is visible to this lane after it.
    { policy.load_quad(quad) } -> std::same_as<Quad>;
    // The same for one that is not the last of this lane's: its load orders nothing.
    { policy.load_quad_ahead(quad) } -> std::same_as<Quad>;
};

CARILLON_POLICY_CODE
template <NearAccess Near>
CARILLON_HD void keep_in_memory([[maybe_unused]] Near const& near, [[maybe_unused]] Line* lines) {
    if constexpr (KeepAccess<Near>) near.keep_in_memory(lines);
}

// Memory that this side writes and never reads.
template <class P>
concept FarAccess = std::copyable<P> &&
    requires(P policy, Line* line, Line const& value, Lines<2> const& lines, std::uint64_t* word,
             std::uint64_t number, Tag previous, void const* where, std::size_t size) {
    // Stores a line, or at least the first `size` quads of it, every quad untorn. `previous` is the
    // tag the slot holds until now.
    policy.store_line(line, value, previous, size);
    // The same for the lines of one message, in a row, which have `size` quads together.
    policy.store_lines(line, lines, size, previous);
    // The same for `size` lines in a row: payload i lies at where + 48 i and gets the tag
    // previous + i; its slot holds previous + i until now.
    policy.store_payloads(line, where, size, previous, previous);
    // Stores one word after every load that precedes it in the program.
    policy.store_word(word, number);
    // What was stored to [where, where + size) leaves this side without waiting for anything.
    policy.commit(where, size);
    // All earlier writes of this side are complete before its next line.
    policy.release();
};

// The same, to which the lanes of a group write a line together, a quad each.
template <class P>
concept QuadAccess = FarAccess<P> && requires(P policy, Quad* to, Quad const& quad) {
    // Stores a quad, untorn.
    policy.store_quad(to, quad);
};

// The same, to which the lines of several messages, one behind the other, leave together.
template <class P>
concept RowAccess = FarAccess<P> &&
    requires(P policy, Line* to, Line const& line, std::size_t count, std::size_t quads) {
    // Puts line number 1 of a row of 2 at most aside, at least its first `quads` quads, or stores
    // it at once to its slot, `to`. The row begins with number 0.
    policy.template stage<2>(to, std::uint32_t{1}, line, quads);
    // Stores the first `count` lines that were put aside, every quad untorn, from the first one's
    // slot on.
    policy.template store_staged<2>(to, count, quads);
};

// Near memory of which two words side by side, from a multiple of 16 bytes, are looked at at once.
template <class P>
concept PairAccess = NearAccess<P> && requires(P policy, std::uint64_t const* words) {
    // The first in `low`, the second in `high`. Orders nothing.
    { policy.load_pair(words) } -> std::same_as<Quad>;
};

// Near memory in which several threads of this side claim what each will do.
template <class P>
concept ClaimAccess = NearAccess<P> &&
    requires(P policy, std::uint64_t* word, std::uint64_t number) {
    // Both return what the word held before. On a device they order nothing.
    { policy.fetch_add(word, number) } -> std::same_as<std::uint64_t>;
    { policy.compare_exchange(word, number, number) } -> std::same_as<std::uint64_t>;
};

// The same, in which a thread also tells the others what it is at.
template <class P>
concept TellAccess = ClaimAccess<P> &&
    requires(P policy, std::uint64_t* word, std::uint64_t number) {
    // A release store of one word.
    policy.store_word(word, number);
};

// FarAccess::store_lines and store_payloads of a policy that stores line by line, of which they are
// a part.
CARILLON_POLICY_CODE
template <class Far>
CARILLON_HD void store_lines_by_line(Far const& far, Line* to, Line const* lines, std::size_t quads,
                                     Tag previous) {
    for (std::size_t i = 0; i * quads_per_line < quads; ++i) {
        std::size_t const left = quads - i * quads_per_line;
        far.store_line(to + i, lines[i], previous, left < quads_per_line ? left : quads_per_line);
    }
}

CARILLON_POLICY_CODE
template <class Far>
CARILLON_HD void store_payloads_by_line(Far const& far, Line* to, void const* payloads,
                                        std::size_t count, Tag first, Tag previous) {
    auto const* const payload = static_cast<unsigned char const*>(payloads);
    for (std::size_t i = 0; i < count; ++i) {
        auto const n = static_cast<Tag>(i);
        far.store_line(to + i, pack_payload(payload + i * payload_bytes, first + n), previous + n);
    }
}

// What the CPU does with the first `quads` quads of a line. Not a loop: GCC unrolls one when it has
// put the line into memory already, from where it is loaded again (a stream between two CPU threads
// took three times as long).
template <class Do>
CARILLON_ALWAYS_INLINE void each_quad(std::size_t quads, Do&& each) {
    if (quads > 0) each(std::size_t{0});
    if (quads > 1) each(std::size_t{1});
    if (quads > 2) each(std::size_t{2});
    if (quads > 3) each(std::size_t{3});
}

}  // namespace carillon::detail

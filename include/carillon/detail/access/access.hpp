// SPDX-License-Identifier: Apache-2.0
// The concepts of access policies: a policy is how one side accesses memory. The ring, the channel
// and everything above use only these concepts; every fence, intrinsic and line of PTX of the
// project is inside a policy.
//
// To add a policy, write a small copyable class that models NearAccess, FarAccess or both, and
// instantiate Producer and Consumer with it. It may have state. The policies below are templates
// over a machine's instructions (X86, DeviceInstructions): to run them on another machine, such as
// a simulated bus, give them a class like those.
//
//   policy        side                      near               far
//   HostCached    CPU on host memory        16-byte loads      -
//   HostMapped    CPU on mapped GPU memory  -                  widest store, store fence, flush
//   DeviceNear    GPU on its own memory     16-byte, acquire   -
//   DeviceFar     GPU on host memory        -                  16-byte, relaxed
//   DeviceBulkFar the same, one thread      -                  lines and rows as one write
//
// HostCached and DeviceNear also claim. HostCached also models TellAccess, DeviceNear PairAccess
// and KeepAccess, DeviceFar QuadAccess. Compiled for a CPU the Device policies are the emulated
// device's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"  // IWYU pragma: export

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// Memory whose words this side polls.
template <class P>
concept WordAccess = std::copyable<P> && requires(P policy, std::uint64_t const* word) {
    // An acquire load of one word.
    { policy.load_word(word) } -> std::same_as<std::uint64_t>;
};

// Memory whose lines this side polls too.
template <class P>
concept NearAccess = WordAccess<P> && requires(P policy, Line const* line, std::size_t quads) {
    // Loads the first `quads` quads, each untorn. After a load that found all of their tags, writes
    // that were complete before the line was published are visible. On non-coherent memory an
    // invalidate precedes the load.
    { policy.load_line(line, quads) } -> std::same_as<Line>;
    // For a line that is not the last of several loaded together: its load orders nothing. The load
    // of the last one orders all of them.
    { policy.load_line_ahead(line, quads) } -> std::same_as<Line>;
};

// The number of failed looks that take longer than a round trip, so that no message seems to come.
// A CPU looks more often in that time than a GPU: its policies specialise this.
template <class P>
inline constexpr std::uint32_t looks_within_a_trip = 64;

// Near memory of a machine whose compiler must learn after a poll that all loaded words are used;
// otherwise one load of the poll may wait for another.
template <class P>
concept KeepAccess = NearAccess<P> && requires(P policy, Quad const* quads, Line* lines) {
    policy.keep_whole(quads, std::size_t{1});
    // Keeps the compiler from spilling piece by piece those lines that exceed the registers.
    policy.keep_in_memory(lines);
};

// Calls keep_whole() if the policy has it. Call it on any path after a poll, best on a rare one
// where no message waits, such as after many failed polls.
template <NearAccess Near>
CARILLON_HD void keep_whole([[maybe_unused]] Near const& near, [[maybe_unused]] Quad const* quads,
                            [[maybe_unused]] std::size_t count) {
    if constexpr (KeepAccess<Near>) near.keep_whole(quads, count);
}

// Near memory from which the lanes of a group load a message together, some quads each.
template <class P>
concept NearQuadAccess = NearAccess<P> && requires(P policy, Quad const* quad) {
    // Untorn. Writes that were complete before the message was published are visible to this lane.
    { policy.load_quad(quad) } -> std::same_as<Quad>;
    // For a quad that is not the last of this lane's: its load orders nothing.
    { policy.load_quad_ahead(quad) } -> std::same_as<Quad>;
};
template <NearAccess Near>
CARILLON_HD void keep_in_memory([[maybe_unused]] Near const& near, [[maybe_unused]] Line* lines) {
    if constexpr (KeepAccess<Near>) near.keep_in_memory(lines);
}

// Memory that this side writes and never reads.
template <class P>
concept FarAccess = std::copyable<P> &&
    requires(P policy, Line* line, Line const& value, Lines<2> const& lines, std::uint64_t* word,
             std::uint64_t number, Tag previous, void const* where, std::size_t size) {
    // Stores a line, or at least its first `size` quads, each untorn. `previous` is the tag that
    // the slot holds until now.
    policy.store_line(line, value, previous, size);
    // Stores the lines of one message, in a row; together they have `size` quads.
    policy.store_lines(line, lines, size, previous);
    // Stores `size` lines in a row. Payload i lies at where + 48 i and gets the first tag + i; its
    // slot holds the second tag + i until now.
    policy.store_payloads(line, where, size, previous, previous);
    // Stores one word after every load that precedes it in the program.
    policy.store_word(word, number);
    // Makes stores to [where, where + size) leave this side, without waiting.
    policy.commit(where, size);
    // Completes all earlier writes of this side before its next line.
    policy.release();
};

// Far memory to which the lanes of a group write a line together, a quad each.
template <class P>
concept QuadAccess = FarAccess<P> && requires(P policy, Quad* to, Quad const& quad) {
    // Stores a quad, untorn.
    policy.store_quad(to, quad);
};

// Far memory to which the lines of several consecutive messages leave together.
template <class P>
concept RowAccess = FarAccess<P> &&
    requires(P policy, Line* to, Line const& line, std::size_t count, std::size_t quads) {
    // Puts aside line number 1 of a row of at most 2, at least its first `quads` quads, or stores
    // it at once to its slot, `to`. The row begins with number 0.
    policy.template stage<2>(to, std::uint32_t{1}, line, quads);
    // Stores the first `count` lines put aside, every quad untorn, from the first one's slot on.
    policy.template store_staged<2>(to, count, quads);
};

// Near memory in which one load reads two adjacent words, from a multiple of 16 bytes.
template <class P>
concept PairAccess = NearAccess<P> && requires(P policy, std::uint64_t const* words) {
    // The first word is in `low`, the second in `high`. Orders nothing.
    { policy.load_pair(words) } -> std::same_as<Quad>;
};

// Near memory in which several threads of this side claim work.
template <class P>
concept ClaimAccess = NearAccess<P> &&
    requires(P policy, std::uint64_t* word, std::uint64_t number) {
    // Both return the previous word. On a device they order nothing; on a CPU they acquire and
    // release.
    { policy.fetch_add(word, number) } -> std::same_as<std::uint64_t>;
    { policy.compare_exchange(word, number, number) } -> std::same_as<std::uint64_t>;
};

// Claim memory in which a thread also tells other threads its state.
template <class P>
concept TellAccess = ClaimAccess<P> &&
    requires(P policy, std::uint64_t* word, std::uint64_t number) {
    // A release store of one word.
    policy.store_word(word, number);
};

// Implements FarAccess::store_lines and store_payloads for a policy that stores line by line.
template <class Far>
CARILLON_HD void store_lines_by_line(Far const& far, Line* to, Line const* lines, std::size_t quads,
                                     Tag previous) {
    for (std::size_t i = 0; i * quads_per_line < quads; ++i) {
        std::size_t const left = quads - i * quads_per_line;
        far.store_line(to + i, lines[i], previous, left < quads_per_line ? left : quads_per_line);
    }
}
template <class Far>
CARILLON_HD void store_payloads_by_line(Far const& far, Line* to, void const* payloads,
                                        std::size_t count, Tag first, Tag previous) {
    auto const* const payload = static_cast<unsigned char const*>(payloads);
    for (std::size_t i = 0; i < count; ++i) {
        auto const n = static_cast<Tag>(i);
        far.store_line(to + i, pack_payload(payload + i * payload_bytes, first + n), previous + n);
    }
}

// Calls `each` for the first `quads` quads of a line, on the CPU. It is not a loop, because GCC
// unrolls a loop only after it has stored the line in memory, and then loads it again (a stream
// between two CPU threads took three times as long).
template <class Do>
CARILLON_ALWAYS_INLINE void each_quad(std::size_t quads, Do&& each) {
    if (quads > 0) each(std::size_t{0});
    if (quads > 1) each(std::size_t{1});
    if (quads > 2) each(std::size_t{2});
    if (quads > 3) each(std::size_t{3});
}

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

// SPDX-License-Identifier: Apache-2.0
// Messages in their slots, for the ends of rings: the lines of each message, the quads used in its
// last line, and the credit that is returned for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A message's shape for a ring: the quads that it fills, and the lines of a slot.
struct MessageShape {
    std::uint32_t quads = quads_per_line;
    std::uint32_t slot_lines = 1;
};

template <class T>
[[nodiscard]] CARILLON_HD constexpr MessageShape shape_of() {
    return {static_cast<std::uint32_t>(quads_of<T>), slot_lines_of<T>};
}

// Whether a packed T fits into one thread's registers, and how many lines it loads before it looks
// at the first.
template <class T>
inline constexpr bool fits_registers = lines_of<T> <= 16;
template <class T>
inline constexpr std::size_t lines_in_flight = fits_registers<T> ? 16 : 11;

// A message of more quads is long: one thread takes its last line as a sign of the others, and the
// lanes of a warp share it (serve_long.hpp).
inline constexpr std::size_t quads_in_a_look = 8;

// The line that is always loaded, and that a short wait may watch: the last one. It usually arrives
// last, and earlier lines are not fetched, only to be invalidated again, while they arrive.
template <class T>
inline constexpr std::size_t awaited_line = lines_of<T> - 1;

// Calls keep_whole() for the line that load_message() always loads, after it found no message.
template <class T, NearAccess Near>
CARILLON_HD void keep_message(Near const& near, Packed<T> const& message) {
    constexpr std::size_t line = awaited_line<T>;
    keep_whole(near, lines_in(message)[line].quads, quads_in_line<T>(line));
}

// Loads the lines of a message from `first` to `last`; returns whether all have arrived. Each step
// of the recursion loads lines that are in flight together, and has a constant number of them: the
// compiler leaves the lines of a loop in local memory, where they are loaded one by one.
template <class T, std::size_t first, std::size_t last, NearAccess Near>
[[nodiscard]] CARILLON_HD bool load_lines(Near const& near, Line const* slot, Tag tag, Line* into) {
    constexpr std::size_t lines = last - first + 1;
    constexpr std::size_t count = lines < lines_in_flight<T> ? lines : lines_in_flight<T>;
    constexpr bool staged = KeepAccess<Near> && !fits_registers<T>;
    Line in_registers[staged ? count : 1];
    Line* const loaded = staged ? in_registers : into + first;
    for (std::size_t i = 0; i < count; ++i) {
        loaded[i] = first + i < last ? near.load_line_ahead(slot + first + i)
                                     : near.load_line(slot + last, quads_in_line<T>(last));
    }
    // All tags are compared with the one that was loaded last, like in has_arrived().
    Tag const seen = loaded[count - 1].quads[quads_in_line<T>(first + count - 1) - 1].tag();
    Tag difference = seen ^ tag;
    for (std::size_t i = 0; i < count; ++i) {
        difference |= tag_difference(loaded[i], seen, quads_in_line<T>(first + i));
    }
    if (difference != 0) [[unlikely]] {
        for (std::size_t i = 0; i < count; ++i) {
            keep_whole(near, loaded[i].quads, quads_in_line<T>(first + i));
        }
        return false;
    }
    if constexpr (staged) {
        keep_in_memory(near, into);
        for (std::size_t i = 0; i < count; ++i) into[first + i] = loaded[i];
    }
    if constexpr (first + count <= last) {
        return load_lines<T, first + count, last>(near, slot, tag, into);
    }
    return true;
}

// Loads the message in `slot` and returns whether it is the whole one with `tag`. It looks only at
// the last line of a long message until that is there. The last load is an acquire (C1, S4, A2).
template <class T, NearAccess Near>
[[nodiscard]] CARILLON_HD bool load_message(Near const& near, Line const* slot, Tag tag,
                                            Packed<T>& into) {
    if constexpr (lines_of<T> == 1) {
        into = near.load_line(slot, quads_of<T>);
        return has_arrived(into, tag, quads_of<T>);
    } else {
        constexpr std::size_t last = lines_of<T> - 1;
        Line* const lines = lines_in(into);
        if constexpr (quads_in_a_look < quads_of<T>) {
            lines[last] = near.load_line_ahead(slot + last, quads_in_line<T>(last));
            if (!has_arrived(lines[last], tag, quads_in_line<T>(last))) return false;
            return load_lines<T, 0, last - 1>(near, slot, tag, lines);
        } else {
            return load_lines<T, 0, last>(near, slot, tag, lines);
        }
    }
}

// A tag that load_message() has always loaded.
template <class T>
[[nodiscard]] CARILLON_HD constexpr Tag tag_in_sight(Packed<T> const& message) {
    return lines_in(message)[awaited_line<T>].quads[0].tag();
}

// The number of consecutive messages that one thread loads at once: as many as fit into its
// registers.
template <class T, class Answer = T>
inline constexpr std::uint32_t row_of = lines_of<T> > 1 || lines_of<Answer> > 1     ? 1
                                        : quads_of<T> <= 2 && quads_of<Answer> <= 2 ? 16
                                                                                    : 8;

// Loads `count` messages of one line each, from slot(0), slot(1), ...: the loads are in flight
// together, and the last one is the acquire.
template <class T, NearAccess Near, class Slot, std::uint32_t count>
CARILLON_HD void load_row(Near const& near, Packed<T> (&into)[count], Slot&& slot) {
    static_assert(lines_of<T> == 1);
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
        into[i] = near.load_line_ahead(slot(i), quads_of<T>);
    }
    into[count - 1] = near.load_line(slot(count - 1), quads_of<T>);
}

// Calls keep_whole() for the quads that load_row() has loaded.
template <class T, NearAccess Near, std::uint32_t count>
CARILLON_HD void keep_row(Near const& near, Packed<T> const (&row)[count]) {
    Quad quads[count * quads_of<T>];
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) {
        CARILLON_UNROLL
        for (std::uint32_t q = 0; q < quads_of<T>; ++q) {
            quads[i * quads_of<T> + q] = row[i].quads[q];
        }
    }
    keep_whole(near, quads, count * quads_of<T>);
}

// Stores a message into its slot, whose lines have the tag `previous`.
template <class T, FarAccess Far>
CARILLON_ALWAYS_INLINE CARILLON_HD void store_message(Far const& far, Line* slot,
                                                      Packed<T> const& message, Tag previous) {
    if constexpr (lines_of<T> == 1) {
        far.store_line(slot, message, previous, quads_of<T>);
    } else {
        far.store_lines(slot, message, quads_of<T>, previous);
    }
}

// Stores `count` messages into consecutive slots of `slot_lines` lines each, the first with tag
// `first`; `previous` is the tag that the first slot holds until now. Payloads that fill a line are
// stored directly from memory.
template <class T, FarAccess Far>
CARILLON_HD void store_messages(Far const& far, Line* to, std::uint32_t slot_lines,
                                T const* messages, std::size_t count, Tag first, Tag previous) {
    if (count == 0) return;  // mostly: nothing is behind the wrap
    if (1 < lines_of<T> || slot_lines > 1) {
        for (std::size_t i = 0; i < count; ++i) {
            auto const n = static_cast<Tag>(i);
            store_message<T>(far, to + i * slot_lines, pack(messages[i], first + n), previous + n);
        }
        // NOLINTNEXTLINE(bugprone-branch-clone): for large messages neither branch is compiled
    } else if constexpr (sizeof(T) == payload_bytes && !clears_padding<T>) {
        far.store_payloads(to, messages, count, first, previous);
    } else if constexpr (lines_of<T> == 1) {
        constexpr std::size_t most = 16;
        PayloadWords payloads[most]{};
        for (std::size_t done = 0; done < count;) {
            std::size_t const now = count - done < most ? count - done : most;
            for (std::size_t i = 0; i < now; ++i) {
                auto const& message = without_padding(messages[done + i]);
                std::memcpy(&payloads[i], __builtin_addressof(message), sizeof(T));
            }
            auto const tags = static_cast<Tag>(done);
            far.store_payloads(to + done, payloads, now, first + tags, previous + tags);
            done += now;
        }
    }
}

// Returns credit: one lane stores the word for all. The lanes meet first (W1, for C2 and S2):
// otherwise the word could leave ahead of another lane's loads of a slot that it covers. The word
// leaves now (H2): a producer may wait for it. Both policies are passed by value: GCC 12 takes a
// reference to one without members for an object that is not initialized.
template <FarAccess Far, VotingGroup Lanes>
CARILLON_HD void return_credit(Far far, Lanes lanes, std::uint64_t* credit, Sequence taken) {
    lanes.sync();
    if (!is_leader(lanes)) return;
    far.store_word(credit, taken);
    far.commit(credit, sizeof(*credit));
}

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

// SPDX-License-Identifier: Apache-2.0
// The protocol of Mailbox: the latest value wins. There is one writer, and any number of readers on
// the other side, whose memory has the mailbox. Neither side ever waits for the other.
//
//     memory of the readers' side
//     +--------------------------+---------------+---------------+-- ... --+---------------+
//     | newest: a version number | slot 0: lines | slot 1: lines |         | slot n: lines |
//     +--------------------------+---------------+---------------+-- ... --+---------------+
//       written far, polled near
//
// Version v is in slot v mod capacity. A slot is written again while a reader may be reading it, so
// a line differs from a ring's (detail/wire/line.hpp): every word has a tag, because 8 aligned
// bytes are one access everywhere. A quad is two accesses on the emulated device, and from a CPU
// without MOVDIR64B: it could have the payload of one version and the tag of another.
//
//   byte   0           4     8           12    16                56          60    64
//          | payload 0 | tag | payload 1 | tag |       ...       | payload 7 | tag |
//
// A value is whole when every tag of every line is its version's, in whatever order its words came
// and were loaded: a word of another version shows. `newest` is a hint. It may come before the
// lines, whose tags tell, or after them: then a later look finds them. It has all 64 bits of the
// version, so that a reader that was away for 2^32 versions knows new from old.
//
// Tags repeat after 2^32 versions. A reader of v does not meet a word of version v - 2^32 in its
// slot: the slot was written and committed 2^32 / capacity times since, and no load of a word goes
// back. It meets a version v + 2^32 only if it stands still in the middle of one refresh() for as
// many sets, which takes minutes (docs/dev/guarantees.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

inline constexpr std::size_t largest_mailbox_value = 4096;
inline constexpr std::size_t mailbox_words_per_line = 8;  // each has 4 bytes of payload
inline constexpr std::size_t mailbox_bytes_per_line = 32;

// The compile-time contract of a mailbox's value; the user sees the texts.
template <class T>
CARILLON_HD constexpr void check_mailbox() {
    static_assert(std::is_trivially_copyable_v<T>,
                  "carillon: a mailbox's value must be trivially copyable: its bytes cross a bus");
    static_assert(sizeof(T) <= largest_mailbox_value,
                  "carillon: a mailbox's value must be at most 4 KiB: every reader copies it");
}

// The number of lines of one value.
template <class T>
inline constexpr std::uint32_t mailbox_lines =
    (sizeof(T) + mailbox_bytes_per_line - 1) / mailbox_bytes_per_line;

// One side's view of a mailbox, with that side's addresses. Trivially copyable.
struct MailboxView {
    Line* lines;  // the lines of all slots
    std::uint64_t* newest;
    std::uint32_t capacity;         // a power of two
    std::uint32_t lines_per_value;  // mailbox_lines<T>
    Sequence first;                 // the number of the first value: 1 in zeroed memory

    [[nodiscard]] CARILLON_HD Line* slot(Sequence version) const {
        return lines + (version & (capacity - 1)) * lines_per_value;
    }
};

// Line `index` of `value` under `tag`. Bytes beyond sizeof(T) are zero.
template <class T>
[[nodiscard]] CARILLON_HD Line mailbox_line(T const& value, std::uint32_t index, Tag tag) {
    constexpr std::size_t last = (mailbox_lines<T> - 1) * mailbox_bytes_per_line;
    auto const* const bytes = reinterpret_cast<unsigned char const*>(__builtin_addressof(value));
    std::uint32_t payload[mailbox_words_per_line]{};
    if (index + 1 < mailbox_lines<T>) {
        std::memcpy(payload, bytes + index * mailbox_bytes_per_line, mailbox_bytes_per_line);
    } else {
        std::memcpy(payload, bytes + last, sizeof(T) - last);
    }
    Line line;
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        line.quads[i].low = payload[2 * i] | (std::uint64_t{tag} << 32);
        line.quads[i].high = payload[2 * i + 1] | (std::uint64_t{tag} << 32);
    }
    return line;
}

// The payload words of a line.
CARILLON_HD constexpr void unpack_mailbox_line(std::uint32_t* words, Line const& line) {
    for (std::size_t quad = 0; quad < quads_per_line; ++quad) {
        words[2 * quad] = static_cast<std::uint32_t>(line.quads[quad].low);
        words[2 * quad + 1] = static_cast<std::uint32_t>(line.quads[quad].high);
    }
}

// Whether all eight tags are `tag`, without a branch between them.
[[nodiscard]] CARILLON_HD constexpr bool every_word_has(Line const& line, Tag tag) {
    Tag other = 0;
    for (Quad const& quad : line.quads) {
        other |= static_cast<Tag>(quad.low >> 32) ^ tag;
        other |= static_cast<Tag>(quad.high >> 32) ^ tag;
    }
    return other == 0;
}

// Makes `view` an empty mailbox whose first value will be view.first, whatever the memory held
// before. Only for unused memory; each slot gets the tags of the lap before.
inline void format_mailbox(MailboxView const& view) {
    for (Sequence version = view.first; version != view.first + view.capacity; ++version) {
        std::uint64_t const word = std::uint64_t{tag_of(version - view.capacity)} << 32;
        for (std::uint32_t i = 0; i < view.lines_per_value; ++i) {
            for (Quad& quad : view.slot(version)[i].quads) quad = {word, word};
        }
    }
    *view.newest = view.first - 1;
}

// The end that sets values, through Far. Wait-free: it reads nothing, and the number of its stores
// does not depend on readers.
template <class T, FarAccess Far>
class MailboxWriter {
   public:
    CARILLON_HD explicit MailboxWriter(MailboxView const& view, Far far = Far())
        : view_(view), next_(view.first), far_(far) {
        check_mailbox<T>();
    }

    // M1, pairs with M2: data that the value refers to are complete before it; otherwise a reader
    // could find them old.
    CARILLON_HD void set(T const& value, OutOfLine data = OutOfLine::none) {
        if (data == OutOfLine::written) far_.release();
        // The version is used up even if a flush throws: no two values have the same tags.
        Sequence const version = next_++;
        Line* const slot = view_.slot(version);
        Tag const tag = tag_of(version);
        auto const& clean = detail::without_padding(value);
        for (std::uint32_t i = 0; i < mailbox_lines<T>; ++i) {
            // A policy that stores in two steps gets the new tag for both: unlike in a ring, the
            // payload must not be seen under the tag of the version that it replaces.
            far_.store_line(slot + i, detail::mailbox_line(clean, i, tag), tag);
        }
        far_.store_word(view_.newest, version);
        // M3, through H2: they leave now, in any order; else the last value would stay behind.
        far_.commit(slot, mailbox_lines<T> * sizeof(Line));
        far_.commit(view_.newest, sizeof(*view_.newest));
    }

   private:
    MailboxView view_;
    Sequence next_;
    Far far_;
};

// An end that reads values, through Near; there may be many. Its threads read together: all of them
// call every member function. Trivially copyable if Near is.
template <class T, NearAccess Near, SharingGroup Threads = OneThread>
class MailboxReader {
   public:
    CARILLON_HD explicit MailboxReader(MailboxView const& view, Near near = Near())
        : view_(view), version_(view.first - 1), near_(near) {
        check_mailbox<T>();
    }

    // Copies the newest whole value into `value` and returns true if it is newer than the last one;
    // otherwise returns false and leaves `value` unchanged. If nothing is new it costs one load of
    // a word. Wait-free: it looks at no more than capacity + 1 versions, whatever the writer does.
    // If none is whole, because the value is still arriving or the writer is faster than this copy,
    // a later call sees it or a newer one.
    [[nodiscard]] CARILLON_HD bool refresh(T& value) {
        Threads const threads;
        Incoming own;
        Incoming& incoming = threads.template shared<Incoming>(own);
        Sequence newest = 0;  // the value of `newest`, in thread 0
        Sequence wanted = 1;  // no version is older
        for (std::uint32_t look = 0; look <= view_.capacity; ++look) {
            if (threads.thread_rank() == 0) {
                incoming.wanted = next_wanted(newest, wanted);
                incoming.missing = 0;
            }
            // M4, pairs with itself in every thread: otherwise some would look for another version.
            threads.sync();
            wanted = incoming.wanted;
            bool const news = wanted > version_;
            if (news) load_lines(wanted, incoming);
            // M4: all lines were looked at; otherwise a torn value could be handed out.
            threads.sync();
            if (!news) return false;
            bool const whole = incoming.missing == 0;
            if (whole) hand_out(incoming, value);
            // M4: all know whether it is whole, and see the value; otherwise the next look could
            // change it under them.
            threads.sync();
            if (!whole) continue;
            version_ = wanted;
            return true;
        }
        return false;
    }

   private:
    // Shared between the threads.
    struct Incoming {
        Sequence wanted;
        std::uint32_t missing;  // 1: a word of another version was found
        std::uint32_t words[mailbox_lines<T> * mailbox_words_per_line];
    };

    // The newest version, or the one before the last if the newest was looked at already. It needs
    // no order with M2, because the lines tell their version.
    [[nodiscard]] CARILLON_HD Sequence next_wanted(Sequence& newest, Sequence wanted) const {
        Sequence const told = near_.load_word(view_.newest);
        if (told == newest) return wanted - 1;
        newest = told;
        return told;
    }

    // M2, pairs with M1: the loads are acquires; otherwise data that the value refers to could be
    // read ahead of it.
    CARILLON_HD void load_lines(Sequence version, Incoming& incoming) const {
        Threads const threads;
        Line const* const slot = view_.slot(version);
        for (std::uint32_t i = threads.thread_rank(); i < mailbox_lines<T>; i += threads.size()) {
            Line const line = near_.load_line(slot + i);
            if (!detail::every_word_has(line, tag_of(version))) {
                incoming.missing = 1;
                return;
            }
            detail::unpack_mailbox_line(incoming.words + i * mailbox_words_per_line, line);
        }
    }

    // The threads share the copying.
    CARILLON_HD static void hand_out(Incoming const& incoming, T& value) {
        Threads const threads;
        constexpr std::uint32_t words = sizeof(T) / sizeof(std::uint32_t);
        constexpr std::size_t rest = sizeof(T) % sizeof(std::uint32_t);
        auto* const to = static_cast<unsigned char*>(
            __builtin_assume_aligned(__builtin_addressof(value), alignof(T)));
        for (std::uint32_t i = threads.thread_rank(); i < words; i += threads.size()) {
            std::memcpy(to + i * sizeof(std::uint32_t), incoming.words + i, sizeof(std::uint32_t));
        }
        if constexpr (rest != 0) {
            if (threads.thread_rank() == 0) {
                std::memcpy(to + words * sizeof(std::uint32_t), incoming.words + words, rest);
            }
        }
    }

    MailboxView view_;
    Sequence version_;  // the version of the last value handed out
    Near near_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

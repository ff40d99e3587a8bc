// SPDX-License-Identifier: Apache-2.0
// Access policies for messages whose size is known only at run time (bytes.hpp). The ends of a ring
// or a mailbox move a MessageAt, the address of the message. These policies wrap those of a side,
// and store and load the message itself, in the lines and quads of a type of its size. Therefore
// all code above the policies is the same as for a message type, compiled once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

namespace carillon::detail {

// The address of a message. It fills two quads, whose tags can differ: so a load can report that a
// part is missing.
struct MessageAt {
    void const* where = nullptr;
    std::uint64_t unused = 0;
};
static_assert(quads_of<MessageAt> == 2);

// Messages of `bytes` bytes in lines.
struct ByteShape {
    std::size_t bytes = 1;

    [[nodiscard]] constexpr std::size_t quads() const {
        return (bytes + payload_bytes_per_quad - 1) / payload_bytes_per_quad;
    }
    [[nodiscard]] constexpr std::size_t lines() const {
        return (quads() + quads_per_line - 1) / quads_per_line;
    }
    [[nodiscard]] constexpr std::uint32_t slot_lines() const {
        return std::bit_ceil(static_cast<std::uint32_t>(lines()));
    }
    [[nodiscard]] constexpr std::size_t quads_in(std::size_t line) const {
        return (std::min)(quads_per_line, quads() - line * quads_per_line);
    }
    [[nodiscard]] constexpr std::size_t bytes_in(std::size_t line) const {
        return (std::min)(payload_bytes, bytes - line * payload_bytes);
    }
    // The number of its lines in a mailbox.
    [[nodiscard]] constexpr std::uint32_t value_lines() const {
        return static_cast<std::uint32_t>((bytes + mailbox_bytes_per_line - 1) /
                                          mailbox_bytes_per_line);
    }
    [[nodiscard]] constexpr std::size_t value_bytes_in(std::size_t line) const {
        return (std::min)(mailbox_bytes_per_line, bytes - line * mailbox_bytes_per_line);
    }
};

template <NearAccess Near>
class MessageNear : public Near {
   public:
    MessageNear(Near const& near, ByteShape shape) : Near(near), shape_(shape) {}

    // Looks at all quads of the message in the slot at `from`. The tags of the result are the
    // message's, or differ if those of its quads do. The last load is the inner policy's acquire
    // (C1).
    [[nodiscard]] Line load_line(Line const* from, std::size_t /*quads*/) const {
        std::size_t const last = shape_.lines() - 1;
        Tag first = 0;
        Tag difference = 0;
        for (std::size_t i = 0; i < last; ++i) {
            Line const ahead = Near::load_line_ahead(from + i);
            if (i == 0) first = ahead.quads[0].tag();
            difference |= tag_difference(ahead, first, quads_per_line);
        }
        Line const seen = Near::load_line(from + last, shape_.quads_in(last));
        Tag const tag = last == 0 ? seen.quads[0].tag() : first;
        difference |= tag_difference(seen, tag, shape_.quads_in(last));
        Line line = pack(MessageAt{from}, tag);
        if (difference != 0) line.quads[1].high ^= std::uint64_t{1} << 32U;
        return line;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads) const {
        return load_line(from, quads);  // also acquires (C1)
    }

    // Copies an arrived message. Its slot's credit is returned later: nobody writes its quads yet.
    void copy(MessageAt message, void* to) const {
        auto const* const from = static_cast<Line const*>(message.where);
        auto* const bytes = static_cast<std::byte*>(to);
        for (std::size_t i = 0; i < shape_.lines(); ++i) {
            auto const words =
                unpack<PayloadWords>(Near::load_line_ahead(from + i, shape_.quads_in(i)));
            std::memcpy(bytes + i * payload_bytes, &words, shape_.bytes_in(i));
        }
    }

   private:
    ByteShape shape_;
};

template <FarAccess Far>
class MessageFar : public Far {
   public:
    MessageFar(Far const& far, ByteShape shape) : Far(far), shape_(shape) {}

    // Stores the message whose address is in `line`, under the line's tag.
    void store_line(Line* to, Line const& line, Tag previous, std::size_t /*quads*/) const {
        auto const* const from = static_cast<std::byte const*>(unpack<MessageAt>(line).where);
        Tag const tag = line.quads[0].tag();
        Line lines[(message_bytes + payload_bytes - 1) / payload_bytes];
        for (std::size_t i = 0; i < shape_.lines(); ++i) {
            PayloadWords words{};
            std::memcpy(&words, from + i * payload_bytes, shape_.bytes_in(i));
            lines[i] = pack(words, tag);
        }
        store_lines_by_line(static_cast<Far const&>(*this), to, lines, shape_.quads(), previous);
    }

    // Stores messages of one line each, in consecutive slots; their addresses are 48 bytes apart.
    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        constexpr std::size_t most = 16;
        auto const* const where = static_cast<std::byte const*>(payloads);
        PayloadWords words[most]{};
        for (std::size_t done = 0; done < count;) {
            std::size_t const now = (std::min)(most, count - done);
            for (std::size_t i = 0; i < now; ++i) {
                MessageAt message;
                std::memcpy(&message, where + (done + i) * payload_bytes, sizeof(message));
                std::memcpy(&words[i], message.where, shape_.bytes_in(0));
            }
            auto const tags = static_cast<Tag>(done);
            Far::store_payloads(to + done, words, now, first + tags, previous + tags);
            done += now;
        }
    }

    // Commits a message's slot (P2), for which the size is that of a MessageAt, or other memory.
    void commit(void const* where, std::size_t size) const {
        Far::commit(where,
                    size == sizeof(Packed<MessageAt>) ? shape_.lines() * sizeof(Line) : size);
    }

   private:
    ByteShape shape_;
};

// Chooses the first page of each pair: on the emulated device no page is nearer.
struct FirstPage {
    [[nodiscard]] unsigned operator()(auto const&... /*of the pages*/) const { return 0; }
};
using FirstPages = ChosenPages<FirstPage>;

template <class Near>
inline constexpr std::uint32_t looks_within_a_trip<MessageNear<Near>> = looks_within_a_trip<Near>;

// The payload of a mailbox's line.
using ValueWords = std::array<std::uint32_t, mailbox_words_per_line>;
static_assert(mailbox_lines<ValueWords> == 1 && mailbox_lines<MessageAt> == 1);

[[nodiscard]] inline Tag first_tag(Line const& line) {
    return static_cast<Tag>(line.quads[0].low >> 32U);
}

// For a mailbox: copies the value while it looks at it, into the policy's own room, because a slot
// may be written again at any time.
template <NearAccess Near>
class ValueNear : public Near {
   public:
    ValueNear(Near const& near, ByteShape shape)
        : Near(near), shape_(shape), room_(shape.value_lines() * mailbox_words_per_line) {}

    // Copies the value in the slot at `from` while all its words have one tag (M2). The result has
    // that tag, or differing tags.
    [[nodiscard]] Line load_line(Line const* from, std::size_t /*quads*/ = quads_per_line) const {
        Tag tag = 0;
        bool whole = true;
        for (std::size_t i = 0; i < shape_.value_lines() && whole; ++i) {
            Line const line = Near::load_line(from + i);
            if (i == 0) tag = first_tag(line);
            whole = every_word_has(line, tag);
            unpack_mailbox_line(room_.data() + i * mailbox_words_per_line, line);
        }
        Line said = mailbox_line(MessageAt{room_.data()}, 0, tag);
        if (!whole) said.quads[0].low ^= std::uint64_t{1} << 32U;
        return said;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads) const {
        return load_line(from, quads);  // also acquires (M2)
    }

   private:
    ByteShape shape_;
    mutable std::vector<std::uint32_t> room_;  // for whole lines; a copy of the policy has its own
};

template <FarAccess Far>
class ValueFar : public Far {
   public:
    ValueFar(Far const& far, ByteShape shape) : Far(far), shape_(shape) {}

    // Stores the value whose address is in `line`, under the line's tag.
    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t /*quads*/ = quads_per_line) const {
        ValueWords said;
        unpack_mailbox_line(said.data(), line);
        std::byte const* bytes = nullptr;
        static_assert(offsetof(MessageAt, where) == 0);
        std::memcpy(&bytes, said.data(), sizeof(bytes));
        for (std::size_t i = 0; i < shape_.value_lines(); ++i) {
            ValueWords words{};
            std::memcpy(words.data(), bytes + i * mailbox_bytes_per_line, shape_.value_bytes_in(i));
            Far::store_line(to + i, mailbox_line(words, 0, first_tag(line)), previous);
        }
    }

    // Commits a value's slot (M3), for which the size is that of a MessageAt, or other memory.
    void commit(void const* where, std::size_t size) const {
        Far::commit(where, size == sizeof(Line) ? shape_.value_lines() * sizeof(Line) : size);
    }

   private:
    ByteShape shape_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Access policies for mailbox values whose size is known at run time, as message_access.hpp has
// them for messages: the ends of a mailbox move a MessageAt, these the value. A reader's value is
// copied while it is looked at, into room that the reader has: nothing keeps a slot from being
// written again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bytes/message_access.hpp"
#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/mailbox.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Values of `bytes` bytes in a mailbox's lines.
struct ValueShape {
    std::size_t bytes = 1;

    [[nodiscard]] constexpr std::uint32_t lines() const {
        return static_cast<std::uint32_t>((bytes + mailbox_bytes_per_line - 1) /
                                          mailbox_bytes_per_line);
    }
    // Of a reader, for whole lines.
    [[nodiscard]] constexpr std::size_t room() const { return lines() * mailbox_bytes_per_line; }
    [[nodiscard]] constexpr std::size_t bytes_in(std::size_t line) const {
        return std::min(mailbox_bytes_per_line, bytes - line * mailbox_bytes_per_line);
    }
};

// The payload of a line of a mailbox, and back.
using ValueWords = std::array<std::uint32_t, mailbox_words_per_line>;
static_assert(mailbox_lines<ValueWords> == 1 && mailbox_lines<MessageAt> == 1);

[[nodiscard]] inline ValueWords value_words(Line const& line) {
    ValueWords words;
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        words[2 * i] = static_cast<std::uint32_t>(line.quads[i].low);
        words[2 * i + 1] = static_cast<std::uint32_t>(line.quads[i].high);
    }
    return words;
}
[[nodiscard]] inline Tag first_tag(Line const& line) {
    return static_cast<Tag>(line.quads[0].low >> 32U);
}

template <NearAccess Near>
class ValueNear : public Near {
   public:
    // `room` is of the shape's size, for one reader.
    ValueNear(Near const& near, ValueShape shape, std::byte* room)
        : Near(near), shape_(shape), room_(room) {}

    // Copies the value in the slot at `from` as far as all its words have one tag. That is the tag
    // of what it returns, or its tags are unlike.
    [[nodiscard]] Line load_line(Line const* from, std::size_t /*quads*/ = quads_per_line) const {
        Tag tag = 0;
        bool whole = true;
        for (std::size_t i = 0; i < shape_.lines() && whole; ++i) {
            Line const line = Near::load_line(from + i);
            if (i == 0) tag = first_tag(line);
            whole = every_word_has(line, tag);
            ValueWords const words = value_words(line);
            std::memcpy(room_ + i * mailbox_bytes_per_line, words.data(), sizeof(words));
        }
        Line said = mailbox_line(MessageAt{room_}, 0, tag);
        if (!whole) said.quads[0].low ^= std::uint64_t{1} << 32U;
        return said;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads) const {
        return load_line(from, quads);
    }

   private:
    ValueShape shape_;
    std::byte* room_;
};

template <FarAccess Far>
class ValueFar : public Far {
   public:
    ValueFar(Far const& far, ValueShape shape) : Far(far), shape_(shape) {}

    // Stores the value that the line says, under the line's tag.
    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t /*quads*/ = quads_per_line) const {
        ValueWords const said = value_words(line);
        std::byte const* bytes = nullptr;
        static_assert(offsetof(MessageAt, where) == 0);
        std::memcpy(&bytes, said.data(), sizeof(bytes));
        for (std::size_t i = 0; i < shape_.lines(); ++i) {
            ValueWords words{};
            std::memcpy(words.data(), bytes + i * mailbox_bytes_per_line, shape_.bytes_in(i));
            Far::store_line(to + i, mailbox_line(words, 0, first_tag(line)), previous);
        }
    }

    // A value's slot, which is taken for that of a MessageAt, or what it is.
    void commit(void const* where, std::size_t size) const {
        Far::commit(where, size == sizeof(Line) ? shape_.lines() * sizeof(Line) : size);
    }

   private:
    ValueShape shape_;
};

}  // namespace carillon::detail

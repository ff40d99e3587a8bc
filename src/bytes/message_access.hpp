// SPDX-License-Identifier: Apache-2.0
// Access policies for messages whose size is known at run time. The ends of a ring move a
// MessageAt, which says where the message lies; these, over the policies of a side, store and load
// the message itself, in as many lines and quads as a type of its size has. So everything above the
// policies is what it is for any message type, compiled once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Of two quads, whose tags can be unlike: that is how a load says that not all has arrived.
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
        return std::min(quads_per_line, quads() - line * quads_per_line);
    }
    [[nodiscard]] constexpr std::size_t bytes_in(std::size_t line) const {
        return std::min(payload_bytes, bytes - line * payload_bytes);
    }
};

template <NearAccess Near>
class MessageNear : public Near {
   public:
    MessageNear(Near const& near, ByteShape shape) : Near(near), shape_(shape) {}

    // Looks at all quads of the message in the slot at `from`: the tags of what it returns are that
    // of the message, or unlike where its quads have not all the same. The load that comes last is
    // the inner policy's acquire.
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
        return load_line(from, quads);
    }

    // Copies a message that was found to be there, before its slot's credit is returned. Every quad
    // is what it was then: nobody writes it before.
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

    // Stores the message that the line says, under the line's tag.
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

    // Of messages of one line each, in slots in a row: what says where they lie is 48 bytes apart.
    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        constexpr std::size_t most = 16;
        auto const* const where = static_cast<std::byte const*>(payloads);
        PayloadWords words[most]{};
        for (std::size_t done = 0; done < count;) {
            std::size_t const now = std::min(most, count - done);
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

    // A message's slot, which is taken for that of a MessageAt, or what it is.
    void commit(void const* where, std::size_t size) const {
        Far::commit(where,
                    size == sizeof(Packed<MessageAt>) ? shape_.lines() * sizeof(Line) : size);
    }

   private:
    ByteShape shape_;
};

// The consumer's pages on the emulated device, where none of a pair is nearer: the first of each.
class FirstPages {
   public:
    static constexpr bool paired = true;

    explicit FirstPages(PagePairs const& pairs) : told_(pairs.told) {}

    [[nodiscard]] static Line* slot(RingSlots const& view, Sequence sequence) {
        return view.slot(sequence);
    }
    template <NearAccess Near, FarAccess Far, class Lanes>
    void choose(Near const& /*near*/, Far const& far, Lanes const& /*lanes*/, RingSlots const& view,
                Sequence /*first*/) const {
        if (told_ == nullptr) return;
        std::uint32_t const words = PagePairs::words(view.capacity, view.page_shift());
        for (std::uint32_t word = 0; word < words; ++word) {
            // C3, pairs with P4: told once the choice is made for good.
            far.store_word(told_ + word, known_pages);
            far.commit(told_ + word, sizeof(PageWord));
        }
    }

   private:
    PageWord* told_;
};

}  // namespace carillon::detail

namespace carillon {

template <class Near>
inline constexpr std::uint32_t detail::looks_within_a_trip<detail::MessageNear<Near>> =
    detail::looks_within_a_trip<Near>;

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The memory of a channel that a client of another process has, and writes anything into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "carillon/detail/protocol/channel_view.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;

inline constexpr std::uint32_t client_slots = 8;

struct alignas(4096) Page {
    std::byte bytes[4096];
};

// Memory exactly as large as a client's.
template <class Request, class Reply>
class ClientMemory {
   public:
    static constexpr ChannelShape shape = ChannelShape::of<Request, Reply>(client_slots);

    explicit ClientMemory(ServedBy served_by = ServedBy::one_block) : served_by_(served_by) {}

    [[nodiscard]] ChannelTable table() const {
        bool const in_pairs = served_by_ == ServedBy::one_block;
        return {device_.get(), host_.get(), 1, shape, 1, nullptr, in_pairs};
    }
    [[nodiscard]] ChannelView view() const { return table().channel(0); }

    // Something that is there now and was not before.
    void write(Input& input) {
        RingView const ring = view().requests;
        switch (input.below(4)) {
            case 0:
                write_word(device_.get(), device_bytes, input);
                break;
            case 1:
                write_word(host_.get(), host_bytes, input);
                break;
            case 2:
                *view().replies.credit = input.take<std::uint64_t>();
                break;
            default:
                write_request(ring, input);
        }
    }

   private:
    static constexpr std::size_t device_bytes = ChannelTable::doorbells_end(1, shape);
    static constexpr std::size_t host_bytes = ChannelTable::host_bytes(shape);
    struct FreePages {
        void operator()(std::byte* pages) const {
            ::operator delete(pages, std::align_val_t(alignof(Page)));
        }
    };
    using Pages = std::unique_ptr<std::byte, FreePages>;

    [[nodiscard]] static Pages make(std::size_t size) {
        auto* const bytes =
            static_cast<std::byte*>(::operator new(size, std::align_val_t(alignof(Page))));
        std::memset(bytes, 0, size);
        return Pages(bytes);
    }
    static void write_word(std::byte* memory, std::size_t size, Input& input) {
        std::size_t const at = input.take<std::uint32_t>() % (size / sizeof(std::uint64_t));
        auto const word = input.take<std::uint64_t>();
        std::memcpy(memory + at * sizeof(word), &word, sizeof(word));
    }
    // Writes a message that may come next, or almost such a message.
    void write_request(RingView const& ring, Input& input) {
        Sequence const number = next_ + input.below(3);
        next_ += input.below(2);
        for (std::uint32_t i = 0; i < ring.slot_lines; ++i) {
            Line const line = with_tag(input.take<Line>(), tag_of(number));
            ring.slot(number)[i] = line;
            if (ring.in_pairs()) ring.slot(number, ~PageWord{0})[i] = line;
        }
    }

    ServedBy served_by_;
    Pages device_ = make(device_bytes);
    Pages host_ = make(host_bytes);
    Sequence next_ = 1;
};

}  // namespace carillon::fuzz

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// The tag of the third line of a ring that starts here is 2^32 - 1, that of the fourth 0.
inline constexpr Sequence just_below_the_tags_wrap = (Sequence{1} << 32) - 3;

// A ring in ordinary aligned memory.
class RingMemory {
   public:
    // `slot_lines`: as slot_lines_of the messages.
    explicit RingMemory(std::uint32_t capacity, Sequence first = 1, std::uint32_t slot_lines = 1)
        : slots_(std::size_t{capacity} * slot_lines) {
        view_ = {slots_.data(), &credit_.word, capacity, first, slot_lines};
        format_ring(view_);
    }
    RingMemory(RingMemory const&) = delete;
    RingMemory& operator=(RingMemory const&) = delete;

    [[nodiscard]] RingView const& view() const { return view_; }
    // The first line of a slot.
    [[nodiscard]] Line& slot(std::size_t index) { return slots_.at(index * view_.slot_lines); }
    [[nodiscard]] std::uint64_t& credit() { return credit_.word; }

   private:
    struct alignas(64) CreditLine {
        std::uint64_t word = 0;
    };
    std::vector<Line> slots_;
    CreditLine credit_;
    RingView view_{};
};

// A message that fills the payload and shows whether it is whole.
struct Whole {
    std::uint64_t word[6];

    static Whole make(std::uint64_t number) {
        Whole message{};
        for (std::uint64_t i = 0; i < 6; ++i) message.word[i] = number * 0x9e3779b97f4a7c15U + i;
        return message;
    }
    bool operator==(Whole const&) const = default;
};
static_assert(sizeof(Whole) == payload_bytes);

// The payload words of a quad of such messages.
struct QuadWords {
    std::uint32_t word[payload_words_per_quad];

    // Quad i of those that carry `first` and the numbers after it.
    static QuadWords make(std::uint64_t first, std::size_t i) {
        Line const line = pack(Whole::make(first + i / quads_per_line), 0);
        Quad const& quad = line.quads[i % quads_per_line];
        return {{static_cast<std::uint32_t>(quad.low), static_cast<std::uint32_t>(quad.low >> 32),
                 static_cast<std::uint32_t>(quad.high)}};
    }
};

}  // namespace carillon::test

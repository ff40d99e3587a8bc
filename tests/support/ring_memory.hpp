// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "carillon/detail/protocol/ring.hpp"

namespace carillon::test {

// The tag of the third line of a ring that starts here is 2^32 - 1, that of the fourth 0.
inline constexpr Sequence just_below_the_tags_wrap = (Sequence{1} << 32) - 3;

// A ring in ordinary aligned memory.
class RingMemory {
   public:
    explicit RingMemory(std::uint32_t capacity, Sequence first = 1) : slots_(capacity) {
        view_ = {slots_.data(), &credit_.word, capacity, first};
        format_ring(view_);
    }
    RingMemory(RingMemory const&) = delete;
    RingMemory& operator=(RingMemory const&) = delete;

    [[nodiscard]] RingView const& view() const { return view_; }
    [[nodiscard]] Line& slot(std::size_t index) { return slots_.at(index); }
    [[nodiscard]] std::uint64_t& credit() { return credit_.word; }

   private:
    struct alignas(64) CreditLine {
        std::uint64_t word = 0;
    };
    std::vector<Line> slots_;
    CreditLine credit_;
    RingView view_{};
};

// A message that fills the payload and can tell whether it is whole.
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

}  // namespace carillon::test

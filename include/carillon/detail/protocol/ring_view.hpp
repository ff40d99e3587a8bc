// SPDX-License-Identifier: Apache-2.0
// One side's view of a ring, for its ends, and the producer's note on out-of-line data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// The page of each of 32 pairs at which a ring's consumer looks: bit i for pair i. Without the bit
// known_pages the word has no meaning (ring_pages.hpp).
using PageWord = std::uint64_t;
inline constexpr std::uint32_t pairs_per_word = 32;
inline constexpr PageWord known_pages = PageWord{1} << 63U;

// For a ring whose slots lie in pairs of pages; its consumer uses one page of each. By default the
// slots lie in one run.
struct PagePairs {
    PageWord* told = nullptr;  // the choice, in memory of the producer's side
    PageWord* kept = nullptr;  // the choice in the consumer's memory, if it needs several words
    std::uint32_t page_shift = one_run;  // a page has 1 << page_shift slots

    static constexpr std::uint32_t one_run = 31;  // for slots that lie in no pages

    [[nodiscard]] CARILLON_HD bool there() const { return told != nullptr; }

    // The number of pairs of a ring, and of words for their choice.
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t pairs(std::uint32_t capacity,
                                                                   std::uint32_t page_shift) {
        return capacity >> page_shift == 0 ? 1 : capacity >> page_shift;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t words(std::uint32_t capacity,
                                                                   std::uint32_t page_shift) {
        return (pairs(capacity, page_shift) + pairs_per_word - 1) / pairs_per_word;
    }
};

struct RingSlots;

// One side's view of a ring, with that side's addresses. Trivially copyable.
struct RingView {
    Line* base;
    std::uint64_t* credit;
    std::uint32_t capacity;        // a power of two
    Sequence first;                // the sequence number of the first message: 1 in zeroed memory
    std::uint32_t slot_lines = 1;  // lines of a slot, a power of two: slot_lines_of the messages
    PagePairs pages{};

    // See RingSlots.
    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence, PageWord word = 0) const;
    [[nodiscard]] CARILLON_HD bool in_pairs() const { return pages.there(); }
    // The number of lines of all slots, including unused ones.
    [[nodiscard]] CARILLON_HD std::size_t lines() const;
};

// The fields with which an end finds the slot of every message.
struct RingSlots {
    Line* base;
    std::uint32_t capacity;
    std::uint32_t lines_and_shift;  // a GPU would load 16 bits of a kernel's parameter, and wait

    RingSlots() = default;                       // not set
    CARILLON_HD RingSlots(RingView const& view)  // NOLINT: a part of it
        : base(view.base),
          capacity(view.capacity),
          lines_and_shift(view.slot_lines << 8U | view.pages.page_shift) {}

    // See RingView and PagePairs.
    [[nodiscard]] CARILLON_HD std::uint32_t slot_lines() const { return lines_and_shift >> 8U; }
    [[nodiscard]] CARILLON_HD std::uint32_t page_shift() const { return lines_and_shift & 0xffU; }

    // The first line of a message's slot, in the page of its pair that `word` names (default:
    // first).
    [[nodiscard]] CARILLON_HD Line* slot(Sequence sequence, PageWord word = 0) const {
        std::uint32_t const index = index_of(sequence);
        std::uint32_t const pair = index >> page_shift();
        std::size_t const page = pair + ((word >> pair % pairs_per_word) & 1U);
        return base + (index + (page << page_shift())) * slot_lines();
    }
    // The number of consecutive slots from that of `sequence` on.
    [[nodiscard]] CARILLON_HD std::uint32_t slots_in_a_row(Sequence sequence) const {
        return row() - (static_cast<std::uint32_t>(sequence - 1) & (row() - 1));
    }
    // Whether its slot is not right behind that of the message before.
    [[nodiscard]] CARILLON_HD bool begins_row(Sequence sequence) const {
        return (static_cast<std::uint32_t>(sequence - 1) & (row() - 1)) == 0;
    }
    // The number of lines of all slots, including unused ones.
    [[nodiscard]] CARILLON_HD std::size_t lines() const {
        std::size_t const pairs = PagePairs::pairs(capacity, page_shift());
        return (page_shift() != PagePairs::one_run ? 2 * pairs * page_slots() : capacity) *
               slot_lines();
    }
    // The ring's page word for its pair, and whether another word begins with its slot.
    [[nodiscard]] CARILLON_HD std::uint32_t word_of(Sequence sequence) const {
        return (index_of(sequence) >> page_shift()) / pairs_per_word;
    }
    [[nodiscard]] CARILLON_HD bool begins_word(Sequence sequence) const {
        if (capacity >> page_shift() <= pairs_per_word) return false;
        return (index_of(sequence) & (pairs_per_word * page_slots() - 1)) == 0;
    }

   private:
    [[nodiscard]] CARILLON_HD std::uint32_t index_of(Sequence sequence) const {
        return static_cast<std::uint32_t>(sequence - 1) & (capacity - 1);
    }
    [[nodiscard]] CARILLON_HD std::uint32_t page_slots() const { return 1U << page_shift(); }
    // The number of slots of each row.
    [[nodiscard]] CARILLON_HD std::uint32_t row() const {
        return capacity < page_slots() ? capacity : page_slots();
    }
};

CARILLON_HD inline Line* RingView::slot(Sequence sequence, PageWord word) const {
    return RingSlots(*this).slot(sequence, word);
}
CARILLON_HD inline std::size_t RingView::lines() const { return RingSlots(*this).lines(); }

// Makes `view` an empty ring whose first message is view.first, whatever the memory held before.
// Only for unused memory; each slot gets the tag of the lap before.
inline void format_ring(RingView const& view) {
    for (Sequence s = view.first; s != view.first + view.capacity; ++s) {
        for (std::uint32_t i = 0; i < view.slot_lines; ++i) {
            Line const line = with_tag(Line{}, tag_of(s - view.capacity));
            view.slot(s)[i] = line;
            if (view.in_pairs()) view.slot(s, ~PageWord{0})[i] = line;
        }
    }
    *view.credit = view.first - 1;
}

// Whether the producer wrote data outside the line, to which the message refers (invariant 6).
enum class OutOfLine : bool { none, written };

}  // namespace carillon::detail

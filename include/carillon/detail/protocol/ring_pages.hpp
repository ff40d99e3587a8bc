// SPDX-License-Identifier: Apache-2.0
// The page of each pair in which a ring's slots lie, for the ring's ends.
//
//     | page 0 | page 0' |  | page 1 | page 1' |  ...  of each pair one page is used
//
// A GPU's L2 cache has parts, and every page of 4 KiB seems to belong to one of them: it is near
// some SMs and far from the others. One of two neighbours is near. A load of an unchanged word
// takes equally long from anywhere, but an SM near that part sees a CPU's new write sooner: a round
// trip is 200 ns shorter. An atomic goes to the part of its word, so its time tells near from far,
// without the CPU (docs/dev/design.md).
//
// The consumer chooses before it looks at a slot for the first time, keeps to its choice, and tells
// it to its producer by words in the producer's memory, 32 pairs each. Until the producer has seen
// the word of a pair, it writes every line to both pages (P4, pairs with C3), so the chosen page
// misses none. The word is one store, and needs no order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// For an end that does not choose: the slots lie in one run, or in the first page of each pair.
struct FixedPages {
    static constexpr bool paired = false;

    CARILLON_HD explicit FixedPages(PagePairs const& /*pairs*/) {}

    [[nodiscard]] CARILLON_HD static Line* slot(RingSlots const& view, Sequence sequence) {
        return view.slot(sequence);
    }
};

// The slot of message `next`, from the known slot of the message before. It is computed anew only
// where another page, or the ring, begins: that takes a GPU's thread 30 dependent instructions,
// which would come between a request and its reply.
template <class Pages>
[[nodiscard]] CARILLON_HD Line* next_slot(Pages& pages, RingSlots const& view, Sequence next,
                                          Line* slot) {
    if (view.begins_row(next)) [[unlikely]]
        return pages.slot(view, next);
    return slot + view.slot_lines();
}

// For the producer, which learns the choice from the consumer.
class ToldPages {
   public:
    static constexpr bool paired = true;

    CARILLON_HD explicit ToldPages(PagePairs const& pairs)
        : word_(pairs.there() ? 0 : known_pages), told_(pairs.told) {}

    // Call it for every message with which the pairs of another word begin.
    [[nodiscard]] CARILLON_HD Line* slot(RingSlots const& view, Sequence sequence) {
        if (view.begins_word(sequence) && told_ != nullptr) word_ = 0;
        return view.slot(sequence, word_);
    }
    // Whether the consumer's page is known; until then it may look at the other page's slot.
    [[nodiscard]] CARILLON_HD bool known() const { return (word_ & known_pages) != 0; }
    // Looks whether the choice is known now.
    template <WordAccess Near>
    CARILLON_HD Line* look(Near const& near, RingSlots const& view, Sequence sequence) {
        word_ = near.load_word(told_ + view.word_of(sequence));
        return view.slot(sequence, word_);
    }
    // The slot in the other page of the pair.
    [[nodiscard]] CARILLON_HD Line* other(RingSlots const& view, Sequence sequence) const {
        return view.slot(sequence, ~word_);
    }

   private:
    PageWord word_;
    PageWord const* told_;
};

// For the consumer, which chooses. Chooser gets the near policy, a word in the first page of a
// pair, the distance to that word of the second page, and a value that neither word has while
// nothing was taken; it returns 0 or 1.
template <class Chooser>
class ChosenPages {
   public:
    static constexpr bool paired = true;

    CARILLON_HD explicit ChosenPages(PagePairs const& pairs)
        : told_(pairs.told), kept_(pairs.kept) {}

    [[nodiscard]] CARILLON_HD Line* slot(RingSlots const& view, Sequence sequence) {
        if (view.begins_word(sequence)) word_ = kept_[view.word_of(sequence)];  // NOLINT: set then
        return view.slot(sequence, word_);
    }

    // Every lane calls it before it takes the ring's first message, `first`.
    template <NearAccess Near, FarAccess Far, VotingGroup Lanes>
    CARILLON_HD void choose(Near const& near, Far const& far, Lanes const& lanes,
                            RingSlots const& view, Sequence first) {
        if (told_ == nullptr) return;
        std::uint32_t const words = PagePairs::words(view.capacity, view.page_shift());
        CARILLON_SELDOM
        for (std::uint32_t word = words; word-- != 0;) {
            PageWord const chosen = is_leader(lanes) ? choose_word(near, view, first, word) : 0;
            word_ = lanes.broadcast(chosen);
            if (!is_leader(lanes)) continue;
            if (words != 1) kept_[word] = word_;
            // C3, pairs with P4: the word is stored once the choice is final.
            far.store_word(told_ + word, word_);
            far.commit(told_ + word, sizeof(PageWord));
        }
        lanes.sync();  // all see the kept words
        word_ = words == 1 ? word_ : kept_[view.word_of(first)];
    }

   private:
    template <class Near>
    [[nodiscard]] CARILLON_HD PageWord choose_word(Near const& near, RingSlots const& view,
                                                   Sequence first, std::uint32_t word) const {
        std::uint32_t const shift = view.page_shift();
        std::uint32_t const pairs = PagePairs::pairs(view.capacity, shift);
        std::uint32_t const begin = word * pairs_per_word;
        std::size_t const apart = (sizeof(Line) * view.slot_lines()) << shift;
        // A tag is in the high half, of the first lap or of the one before.
        std::uint64_t const never = std::uint64_t{tag_of(first) ^ 1U << 31U} << 32U;
        PageWord chosen = known_pages;
        CARILLON_SELDOM
        for (std::uint32_t i = 0; i < pairs_per_word && begin + i < pairs; ++i) {
            Line* const line = view.slot((Sequence{begin + i} << shift) + 1);
            PageWord const page = Chooser()(near, &line->quads[0].high, apart, never);
            chosen |= (page & 1U) << i;
        }
        return chosen;
    }

    PageWord word_ = 0;
    PageWord* told_;
    PageWord* kept_;  // used if there are several words
};

// The time of `atomics` atomics on `word`, in ticks, including a look at the clock. The word never
// is `never`.
template <class Near, class Clock>
CARILLON_HD std::uint64_t time_of_atomics(Near const& near, Clock const& clock, std::uint64_t* word,
                                          std::uint64_t never, unsigned atomics) {
    std::uint64_t const began = clock.ticks();
    CARILLON_SELDOM
    for (unsigned i = 0; i < atomics; ++i) {
        // Each waits for the one before, because its address depends on that one's result.
        std::uint64_t const held = near.compare_exchange(word, never, never);
        word += held == never ? 1 : 0;
    }
    return clock.ticks() - began;
}

// The index of the nearest of `count` pages in device memory, `stride` bytes apart. It takes 24
// atomics for each page, on one word of each, `first` in the first. They change nothing, because
// none of these words ever is `never`, and concurrent writes of the CPU stay.
template <class Near, class Clock>
CARILLON_HD unsigned nearest_page(Near const& near, Clock const& clock, std::uint64_t* first,
                                  std::size_t stride, unsigned count, std::uint64_t never) {
    constexpr unsigned rounds = 3;  // the first one finds the address translation
    constexpr unsigned atomics = 8;
    unsigned nearest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    CARILLON_SELDOM
    for (unsigned round = 0; round < rounds; ++round) {
        CARILLON_SELDOM
        for (unsigned page = 0; page < count; ++page) {
            std::uint64_t const time = time_of_atomics(
                near, clock, first + page * (stride / sizeof(*first)), never, atomics);
            if (time >= least) continue;
            least = time;
            nearest = page;
        }
    }
    return nearest;
}

// Chooses the nearer of two pages, for the rings of device ends.
struct NearestPage {
    template <class Near>
    [[nodiscard]] CARILLON_HD unsigned operator()(Near const& near, std::uint64_t* first,
                                                  std::size_t stride, std::uint64_t never) const {
        return nearest_page(near, DeviceClock(), first, stride, 2, never);
    }
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE

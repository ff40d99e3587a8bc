// SPDX-License-Identifier: Apache-2.0
// A ring in pairs of pages, in ordinary memory, and a choice of pages that a test makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// A test has one at a time: its choices are those of ScriptedPages.
class PairedRing {
   public:
    PairedRing(std::uint32_t capacity, std::uint32_t page_shift, Sequence first = 1)
        : shift_(page_shift),
          slots_((std::size_t{2} * PagePairs::pairs(capacity, page_shift)) << page_shift),
          told_(PagePairs::words(capacity, page_shift)),
          kept_(told_.size()),
          view_{slots_.data(), &credit_, capacity, first, 1, {told_.data(), kept_.data(), shift_}} {
        format_ring(view_);
        choices = {};
        chosen_of = this;
    }
    PairedRing(PairedRing const&) = delete;
    PairedRing& operator=(PairedRing const&) = delete;

    [[nodiscard]] RingView const& view() const { return view_; }
    [[nodiscard]] std::uint64_t& credit() { return credit_; }
    [[nodiscard]] std::vector<PageWord>& told() { return told_; }
    [[nodiscard]] std::size_t pairs() const { return slots_.size() >> (shift_ + 1); }
    [[nodiscard]] std::size_t lines() const { return slots_.size(); }
    [[nodiscard]] bool has(Line const* line) const {
        return line >= slots_.data() && line < slots_.data() + slots_.size();
    }

    // The page that the device chooses of each pair; of pairs beyond, the first. And how often it
    // chose.
    static inline std::vector<unsigned> choices;
    static inline int times_chosen = 0;

    struct Scripted {
        template <class Near>
        unsigned operator()(Near const& /*near*/, std::uint64_t* first, std::size_t /*stride*/,
                            std::uint64_t /*never*/) const {
            return chosen_of->choice_at(first);
        }
    };

   private:
    [[nodiscard]] unsigned choice_at(std::uint64_t const* first) const {
        ++times_chosen;
        auto const line =
            static_cast<std::size_t>(reinterpret_cast<Line const*>(first - 1) - slots_.data());
        std::size_t const pair = line >> (shift_ + 1);
        return pair < choices.size() ? choices[pair] : 0;
    }

    static inline PairedRing const* chosen_of = nullptr;

    std::uint32_t shift_;
    std::uint64_t credit_ = 0;
    std::vector<Line> slots_;
    std::vector<PageWord> told_;
    std::vector<PageWord> kept_;
    RingView view_;
};

using ScriptedPages = ChosenPages<PairedRing::Scripted>;

}  // namespace carillon::test

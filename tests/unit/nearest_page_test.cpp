// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <carillon/detail/protocol/ring_pages.hpp>
#include <vector>

namespace carillon::test {
namespace {

constexpr std::size_t words_per_page = 8;
using Times = std::vector<std::uint64_t>;

// Memory in which an atomic on a word of page p takes times[p] ticks, and the first ones take
// `disturbance` more.
class SlowMemory {
   public:
    explicit SlowMemory(Times times, std::uint64_t disturbed = 0)
        : times_(std::move(times)),
          disturbed_(disturbed),
          words_(times_.size() * words_per_page, 7) {}

    // This object is Near and Clock of detail::nearest_page.
    std::uint64_t compare_exchange(std::uint64_t* word, std::uint64_t expected,
                                   std::uint64_t desired) const {
        auto const page = static_cast<std::size_t>(word - words_.data()) / words_per_page;
        now_ += times_.at(page) + (atomics_++ < disturbed_ ? 1000 : 0);
        std::uint64_t const held = *word;
        if (held == expected) *word = desired;
        return held;
    }
    [[nodiscard]] std::uint64_t ticks() const { return now_; }

    [[nodiscard]] unsigned nearest() {
        return detail::nearest_page(*this, *this, words_.data(),
                                    words_per_page * sizeof(std::uint64_t),
                                    static_cast<unsigned>(times_.size()), 8);
    }
    void fill(std::uint64_t value) { words_.assign(words_.size(), value); }
    [[nodiscard]] std::vector<std::uint64_t> const& words() const { return words_; }

   private:
    Times times_;
    std::uint64_t disturbed_;
    mutable std::uint64_t now_ = 0;
    mutable std::uint64_t atomics_ = 0;
    std::vector<std::uint64_t> words_;
};

TEST(NearestPageTest, placeWhoseAtomicsAreFastestIsNearest) {
    EXPECT_EQ(SlowMemory({300, 500}).nearest(), 0U);
    EXPECT_EQ(SlowMemory({500, 300}).nearest(), 1U);
    EXPECT_EQ(SlowMemory({500, 400, 300, 350}).nearest(), 2U);
    EXPECT_EQ(SlowMemory({300, 300}).nearest(), 0U);
}

// Catches a choice by the first look, which includes the translation of the address.
TEST(NearestPageTest, slowStartDecidesNothing) {
    EXPECT_EQ(SlowMemory({300, 500}, 1).nearest(), 0U);
    EXPECT_EQ(SlowMemory({300, 500}, 12).nearest(), 0U);
}

TEST(NearestPageTest, wordsKeepTheirValues) {
    for (std::uint64_t const value : {std::uint64_t{0}, std::uint64_t{41}, ~std::uint64_t{0}}) {
        SlowMemory memory({300, 500});
        memory.fill(value);
        EXPECT_EQ(memory.nearest(), 0U);
        EXPECT_EQ(memory.words(), std::vector<std::uint64_t>(2 * words_per_page, value));
    }
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Writes that have left one side and not yet arrived at the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "adversary/cells.hpp"
#include "adversary/random.hpp"

namespace carillon::test {

// A word or a quad: arrives in one piece.
struct PostedWrite {
    Cell first;
    std::uint32_t count;
    std::uint32_t epoch;
    std::array<std::uint64_t, 2> word;

    [[nodiscard]] std::span<std::uint64_t const> words() const { return {word.data(), count}; }
    [[nodiscard]] bool overlaps(PostedWrite const& that) const {
        return first < that.first + that.count && that.first < first + count;
    }
};

class PostedWrites {
   public:
    // `fences_order`: what is posted after a fence arrives after what was posted before it.
    void reset(bool in_order, bool fences_order) {
        size_ = 0;
        epoch_ = 0;
        in_order_ = in_order;
        fences_order_ = fences_order;
    }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] bool full() const { return size_ == writes_.size(); }

    // Not when full.
    void post(Cell first, std::span<std::uint64_t const> words) {
        PostedWrite& write = writes_[size_++];
        write.first = first;
        write.count = static_cast<std::uint32_t>(words.size());
        write.epoch = epoch_;
        std::copy(words.begin(), words.end(), write.word.begin());
    }

    void fence() { epoch_ += fences_order_ ? 1 : 0; }

    // Takes out a write that may arrive next. Not when empty.
    PostedWrite take(Random& random) {
        std::size_t const chosen = in_order_ ? 0 : choose(random);
        PostedWrite const write = writes_[chosen];
        std::copy(writes_.begin() + chosen + 1, writes_.begin() + size_, writes_.begin() + chosen);
        --size_;
        return write;
    }

   private:
    // Any of the oldest epoch, but writes to one word keep their order.
    [[nodiscard]] std::size_t choose(Random& random) const {
        std::uint32_t candidates = 1;
        while (candidates != size_ && writes_[candidates].epoch == writes_[0].epoch) ++candidates;
        std::size_t chosen = random.below(candidates);
        for (std::size_t earlier = chosen; earlier-- != 0;) {
            if (writes_[earlier].overlaps(writes_[chosen])) chosen = earlier;
        }
        return chosen;
    }

    std::array<PostedWrite, 64> writes_{};
    std::size_t size_ = 0;
    std::uint32_t epoch_ = 0;
    bool in_order_ = false;
    bool fences_order_ = true;
};

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Writes that have left one side and not yet arrived at the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "adversary/machine/cells.hpp"
#include "adversary/machine/random.hpp"

namespace carillon::test {

// A word or a quad: arrives in one piece.
struct PostedWrite {
    Cell first;
    std::uint32_t count;
    Actor writer;
    std::uint32_t after;   // the writer's last fence before it; 0 for none
    std::uint32_t fenced;  // the writer's first fence after it; 0 for none
    std::array<std::uint64_t, 2> word;

    [[nodiscard]] std::span<std::uint64_t const> words() const { return {word.data(), count}; }
    [[nodiscard]] bool overlaps(PostedWrite const& that) const {
        return first < that.first + that.count && that.first < first + count;
    }
};

// Of all threads of one side.
class PostedWrites {
   public:
    // What a fence does: nothing; what its thread posts after it arrives after what that thread
    // posted before; or also after what others had posted and fenced by then.
    enum class Fences : std::uint8_t { order_nothing, order_own, order_all };

    void reset(bool in_order, Fences fences) {
        size_ = 0;
        fences_so_far_ = 0;
        last_fence_ = {};
        in_order_ = in_order;
        fences_ = fences;
    }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] bool full() const { return size_ == writes_.size(); }

    // Not when full.
    void post(Actor writer, Cell first, std::span<std::uint64_t const> words) {
        PostedWrite& write = writes_[size_++];
        write.first = first;
        write.count = static_cast<std::uint32_t>(words.size());
        write.writer = writer;
        write.after = last_fence_[writer];
        write.fenced = 0;
        std::copy(words.begin(), words.end(), write.word.begin());
    }

    void fence(Actor writer) {
        if (fences_ == Fences::order_nothing) return;
        last_fence_[writer] = ++fences_so_far_;
        for (std::size_t i = 0; i != size_; ++i) {
            PostedWrite& write = writes_[i];
            if (write.writer == writer && write.fenced == 0) write.fenced = fences_so_far_;
        }
    }

    // Takes out a write that may arrive next. Not when empty.
    PostedWrite take(Random& random) {
        std::size_t const chosen = in_order_ ? 0 : choose(random);
        PostedWrite const write = writes_[chosen];
        std::copy(writes_.begin() + chosen + 1, writes_.begin() + size_, writes_.begin() + chosen);
        --size_;
        return write;
    }

   private:
    [[nodiscard]] bool comes_first(PostedWrite const& one, PostedWrite const& than) const {
        if (one.fenced == 0 || one.fenced > than.after) return false;
        return fences_ == Fences::order_all || one.writer == than.writer;
    }

    // Any, but for the fences, and writes to one word keep their order.
    [[nodiscard]] std::size_t choose(Random& random) const {
        std::size_t chosen = random.below(static_cast<std::uint32_t>(size_));
        for (std::size_t earlier = chosen; earlier-- != 0;) {
            if (writes_[earlier].overlaps(writes_[chosen]) ||
                comes_first(writes_[earlier], writes_[chosen])) {
                chosen = earlier;
            }
        }
        return chosen;
    }

    std::array<PostedWrite, 64> writes_{};
    std::size_t size_ = 0;
    std::uint32_t fences_so_far_ = 0;
    std::array<std::uint32_t, max_actors> last_fence_{};
    bool in_order_ = false;
    Fences fences_ = Fences::order_own;
};

}  // namespace carillon::test

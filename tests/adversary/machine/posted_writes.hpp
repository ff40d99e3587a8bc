// SPDX-License-Identifier: Apache-2.0
// Writes that have left one side and not yet arrived at the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "adversary/machine/cells.hpp"
#include "testing/random.hpp"

namespace carillon::test {

using detail::Random;

// A word or a quad: arrives in one piece.
struct PostedWrite {
    Cell first;
    std::uint32_t count;
    Actor writer;
    std::uint32_t after;   // the writer's last fence before it; 0 for none
    std::uint32_t fenced;  // the writer's first fence after it; 0 for none
    bool bulk;             // a piece of a bulk copy
    std::array<std::uint64_t, 2> word;

    [[nodiscard]] std::span<std::uint64_t const> words() const { return {word.data(), count}; }
    [[nodiscard]] bool overlaps(PostedWrite const& that) const {
        return first < that.first + that.count && that.first < first + count;
    }
};

// The posted writes of all threads of one side.
class PostedWrites {
   public:
    // The effect of a fence: none; a thread's later writes arrive after its earlier ones; or also
    // after the writes that other threads had posted and fenced by then.
    enum class Fences : std::uint8_t { order_nothing, order_own, order_all };

    void reset(bool in_order, Fences fences) {
        size_ = 0;
        fences_so_far_ = 0;
        last_fence_ = {};
        in_order_ = in_order;
        copies_linger_ = false;
        fences_ = fences;
    }
    // Pieces of bulk copies take long from now on.
    void let_copies_linger() { copies_linger_ = true; }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] bool full() const { return size_ == writes_.size(); }

    // Must not be called when full. A piece of a bulk copy has no order with any other write, even
    // across fences.
    void post(Actor writer, Cell first, std::span<std::uint64_t const> words, bool bulk = false) {
        PostedWrite& write = writes_[size_++];
        write.first = first;
        write.count = static_cast<std::uint32_t>(words.size());
        write.writer = writer;
        write.after = bulk ? 0 : last_fence_[writer];
        write.fenced = 0;
        write.bulk = bulk;
        std::copy(words.begin(), words.end(), write.word.begin());
    }

    void fence(Actor writer) {
        if (fences_ == Fences::order_nothing) return;
        last_fence_[writer] = ++fences_so_far_;
        for (std::size_t i = 0; i != size_; ++i) {
            PostedWrite& write = writes_[i];
            if (write.writer == writer && !write.bulk && write.fenced == 0) {
                write.fenced = fences_so_far_;
            }
        }
    }

    // Whether bulk copies are under way, of this thread or of any.
    [[nodiscard]] bool copies(Actor writer) const {
        return std::any_of(writes_.begin(), writes_.begin() + size_, [&](PostedWrite const& each) {
            return each.bulk && each.writer == writer;
        });
    }
    [[nodiscard]] bool copies() const {
        return std::any_of(writes_.begin(), writes_.begin() + size_,
                           [](PostedWrite const& each) { return each.bulk; });
    }

    // Takes out a write that may arrive next, or none when the one that was drawn takes longer. Not
    // when empty.
    std::optional<PostedWrite> take(Random& random) {
        std::size_t const chosen = in_order_ ? 0 : choose(random);
        if (copies_linger_ && !in_order_ && writes_[chosen].bulk && !random.one_in(16)) return {};
        PostedWrite const write = writes_[chosen];
        std::copy(writes_.begin() + chosen + 1, writes_.begin() + size_, writes_.begin() + chosen);
        --size_;
        return write;
    }

   private:
    // Writes to one word keep their order, and fences keep theirs.
    [[nodiscard]] bool comes_first(PostedWrite const& one, PostedWrite const& than) const {
        if (one.bulk || than.bulk) return false;
        if (one.overlaps(than)) return true;
        if (one.fenced == 0 || one.fenced > than.after) return false;
        return fences_ == Fences::order_all || one.writer == than.writer;
    }

    // Any that nothing has to come before.
    [[nodiscard]] std::size_t choose(Random& random) const {
        std::size_t chosen = random.below(static_cast<std::uint32_t>(size_));
        for (std::size_t earlier = chosen; earlier-- != 0;) {
            if (comes_first(writes_[earlier], writes_[chosen])) chosen = earlier;
        }
        return chosen;
    }

    std::array<PostedWrite, 64> writes_{};
    std::size_t size_ = 0;
    std::uint32_t fences_so_far_ = 0;
    std::array<std::uint32_t, max_actors> last_fence_{};
    bool in_order_ = false;
    bool copies_linger_ = false;
    Fences fences_ = Fences::order_own;
};

}  // namespace carillon::test

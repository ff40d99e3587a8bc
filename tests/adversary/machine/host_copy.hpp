// SPDX-License-Identifier: Apache-2.0
// The CPU's own copy of memory that is not coherent. A line of it leaves when it is flushed, or by
// chance; an invalidation updates it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "adversary/machine/cells.hpp"
#include "adversary/machine/write_combining.hpp"

namespace carillon::test {

class HostCopy {
   public:
    void reset(Cells const& cells) {
        for (Cell cell = 0; cell != cell_count; ++cell) word_[cell] = cells.newest(cell);
        time_.fill(0);
        dirty_.fill(false);
        own_.fill(false);
    }

    // Stores a word that only CPU threads write: the copy of such a word is always the newest.
    void store_own(Cell cell, std::uint64_t word) {
        own_[cell / 2] = true;
        word_[cell] = word;
    }

    void store(Cell first, std::span<std::uint64_t const> words) {
        dirty_[first / cells_per_line] = true;
        for (std::uint64_t const word : words) word_[first++] = word;
    }

    void store(PartialLine const& part) {
        dirty_[part.line] = true;
        for (std::uint32_t i = 0; i != cells_per_line; ++i) {
            if ((part.mask & 1U << i) != 0) word_[part.line * cells_per_line + i] = part.word[i];
        }
    }

    // Hands the line to `leave` if it was written.
    template <class Leave>
    void write_out(std::uint32_t line, Leave&& leave) {
        if (!dirty_[line]) return;
        dirty_[line] = false;
        PartialLine whole{line, (1U << cells_per_line) - 1, {}};
        for (std::uint32_t i = 0; i != cells_per_line; ++i) {
            whole.word[i] = word_[line * cells_per_line + i];
        }
        leave(static_cast<PartialLine const&>(whole));
    }

    template <class Leave>
    void write_out_all(Leave&& leave) {
        for (std::uint32_t line = 0; line != line_count; ++line) write_out(line, leave);
    }

    // A quad as it was in memory at `time`.
    void refresh(Cell first, Time time, std::span<std::uint64_t const, 2> words) {
        if (own_[first / 2]) return;
        word_[first] = words[0];
        word_[first + 1] = words[1];
        time_[first / 2] = time;
    }

    // Returns the time of the words.
    Time read(Cell first, std::span<std::uint64_t> words) const {
        Time const time = time_[first / 2];
        for (std::uint64_t& word : words) word = word_[first++];
        return time;
    }

   private:
    std::array<std::uint64_t, cell_count> word_{};
    std::array<Time, cell_count / 2> time_{};  // of each quad
    std::array<bool, line_count> dirty_{};
    std::array<bool, cell_count / 2> own_{};
};

}  // namespace carillon::test

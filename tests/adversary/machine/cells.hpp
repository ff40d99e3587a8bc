// SPDX-License-Identifier: Apache-2.0
// The machine's memory: 8-byte cells that remember their last few values, so that a load can see
// the memory as it was a while ago.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "carillon/detail/wire/line.hpp"

namespace carillon::test {
using namespace detail;

enum class Side : std::uint8_t { host, device };

[[nodiscard]] constexpr std::size_t index(Side side) { return static_cast<std::size_t>(side); }
[[nodiscard]] constexpr Side other(Side side) {
    return side == Side::host ? Side::device : Side::host;
}

// Cells are numbered through: the device's memory first, then the host's.
using Cell = std::uint32_t;
// Counts the writes that have arrived.
using Time = std::uint32_t;
// Threads of both sides, numbered through.
using Actor = std::uint32_t;

inline constexpr std::uint32_t max_actors = 6;

inline constexpr std::uint32_t cells_per_line = sizeof(Line) / sizeof(std::uint64_t);
inline constexpr std::uint32_t lines_per_memory = 28;
inline constexpr std::uint32_t line_count = 2 * lines_per_memory;
inline constexpr std::uint32_t cell_count = line_count * cells_per_line;

[[nodiscard]] constexpr Side memory_of(Cell cell) {
    return cell < cell_count / 2 ? Side::device : Side::host;
}

class Cells {
   public:
    void reset(Line const* lines) {
        now_ = 0;
        for (Cell cell = 0; cell != cell_count; ++cell) {
            Quad const& quad = lines[cell / cells_per_line].quads[cell % cells_per_line / 2];
            History& history = cells_[cell];
            history.writes = 1;
            history.seen = {};
            history.value[0] = cell % 2 == 0 ? quad.low : quad.high;
            history.time[0] = 0;
        }
    }

    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] std::uint64_t newest(Cell cell) const {
        History const& history = cells_[cell];
        return history.value[(history.writes - 1) % depth];
    }

    // Words arrive in neighbouring cells, at one time.
    void write(Cell first, std::span<std::uint64_t const> words) {
        ++now_;
        for (std::uint64_t const word : words) {
            History& history = cells_[first++];
            history.value[history.writes % depth] = word;
            history.time[history.writes % depth] = now_;
            ++history.writes;
        }
    }

    // Records that `actor` wrote or read the cell's newest value.
    void see_newest(Actor actor, Cell cell) { cells_[cell].seen[actor] = now_; }

    // The time of the value that `actor` read last.
    [[nodiscard]] Time seen(Actor actor, Cell cell) const { return cells_[cell].seen[actor]; }

    // Reads neighbouring cells as they were at `wanted`, or later if `actor` has already seen later
    // values. Returns the time that was read.
    Time read(Actor actor, Cell first, Time wanted, std::span<std::uint64_t> words) {
        Time time = wanted;
        for (Cell cell = first; cell != first + words.size(); ++cell) {
            time = std::max({time, cells_[cell].seen[actor], oldest(cells_[cell])});
        }
        for (std::uint64_t& word : words) {
            History& history = cells_[first++];
            std::uint32_t last = history.writes - 1;
            while (history.time[last % depth] > time) --last;
            history.seen[actor] = history.time[last % depth];
            word = history.value[last % depth];
        }
        return time;
    }

   private:
    static constexpr std::uint32_t depth = 8;

    struct History {
        std::array<std::uint64_t, depth> value;
        std::array<Time, depth> time;
        std::uint32_t writes;
        std::array<Time, max_actors> seen;  // by each: the time of the value that it read last
    };

    static Time oldest(History const& history) {
        return history.writes <= depth ? 0 : history.time[history.writes % depth];
    }

    std::array<History, cell_count> cells_{};
    Time now_ = 0;
};

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// The line in terms of C++ atomics alone: what CPU threads use when they stand in for a device,
// and what a CPU uses towards them. Each quad is two 8-byte words; the one with the tag is written
// last and read first, so a tag that was seen vouches for the other word.
#pragma once

#include <atomic>
#include <cstdint>

#include "carillon/core/line.hpp"

namespace carillon::cpu {

inline std::uint64_t load_word(std::uint64_t const* from) {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(from))
        .load(std::memory_order_acquire);
}

inline void store_word(std::uint64_t* to, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>(*to).store(value, std::memory_order_release);
}

inline Line load_line(Line const* from) {
    Line line;
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        line.quads[i].high = load_word(&from->quads[i].high);
        line.quads[i].low =
            std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(from->quads[i].low))
                .load(std::memory_order_relaxed);
    }
    return line;
}

inline void store_line(Line* to, Line const& line) {
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        std::atomic_ref<std::uint64_t>(to->quads[i].low)
            .store(line.quads[i].low, std::memory_order_relaxed);
        store_word(&to->quads[i].high, line.quads[i].high);
    }
}

}  // namespace carillon::cpu

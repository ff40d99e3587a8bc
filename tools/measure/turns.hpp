// SPDX-License-Identifier: Apache-2.0
// Measures take turns, so that drift (clocks, heat, other users) affects all alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/interrupt.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

// Calls `turn(i)` for each i below `rivals`, once per round. Each round begins with another i, so
// that none is always the first. No turn begins after an interrupt.
template <class Turn>
void take_turns(std::uint32_t rounds, std::size_t rivals, Progress const& progress, Turn&& turn) {
    auto const all = static_cast<double>(rounds) * static_cast<double>(rivals);
    std::size_t done = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < rivals; ++i) {
            if (interrupted()) return;
            turn((round + i) % rivals);
            progress(static_cast<double>(++done) / all);
        }
    }
}

// Progress within stage `index`, from 0, of a measurement whose `stages` take equally long.
[[nodiscard]] inline Progress progress_of_stage(Progress const& whole, std::size_t index,
                                                std::size_t stages) {
    return [&whole, index, stages](double share) {
        whole((static_cast<double>(index) + share) / static_cast<double>(stages));
    };
}

inline void no_progress(double /*share_done*/) {}

}  // namespace carillon::tool

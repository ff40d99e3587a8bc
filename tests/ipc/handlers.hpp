// SPDX-License-Identifier: Apache-2.0
// What the processes of these tests say to each other's kernels.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

struct Ask {
    std::uint64_t value;
};
struct Told {
    std::uint64_t twice;
    std::uint64_t served;  // how many requests the block had answered before
};

// Counts what its block has answered, for whomever.
struct CountingHandler {
    std::uint64_t served = 0;

    CARILLON_HD Told operator()(Ask const& ask) { return {2 * ask.value, served++}; }
};

// Of several lines.
struct LongAsk {
    std::uint64_t word[40];
};
struct SumHandler {
    CARILLON_HD LongAsk operator()(LongAsk const& ask) const {
        LongAsk told = ask;
        for (std::uint64_t& word : told.word) ++word;
        return told;
    }
};

}  // namespace carillon::test

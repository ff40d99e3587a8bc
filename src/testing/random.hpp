// SPDX-License-Identifier: Apache-2.0
// Repeatable numbers for tests.
#pragma once

#include <cstdint>

namespace carillon::detail {

// SplitMix64: small, fast, and every seed is a good one.
class Random {
   public:
    explicit Random(std::uint64_t seed = 0) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    // One of 0 .. end - 1. The upper half of the draw, scaled: no division.
    std::uint32_t below(std::uint32_t end) {
        return static_cast<std::uint32_t>(((next() >> 32) * end) >> 32);
    }

    bool one_in(std::uint32_t n) { return below(n) == 0; }

   private:
    std::uint64_t state_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The kernels of `carillon serve`.
#pragma once

#include <carillon/detail/wire/config.hpp>
#include <cstdint>

namespace carillon::kernels {

// The longest message that one line holds.
struct ServedBytes {
    std::uint32_t word[12];
};
struct ServedEcho {
    CARILLON_HD ServedBytes operator()(ServedBytes const& bytes) const { return bytes; }
};

struct ServedAsk {
    std::uint64_t value;
};
struct ServedCount {
    std::uint64_t twice;
    std::uint64_t served;  // how many requests the block had answered before
};
struct ServedCounting {
    std::uint64_t served = 0;

    CARILLON_HD ServedCount operator()(ServedAsk const& ask) { return {2 * ask.value, served++}; }
};

}  // namespace carillon::kernels

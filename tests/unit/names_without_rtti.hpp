// SPDX-License-Identifier: Apache-2.0
// Names and members of types, as a file gives them that is compiled with -fno-rtti -O1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/members.hpp"

namespace carillon::test {

struct NamedTick {
    double bid;
    double ask;
    CARILLON_MEMBERS(bid, ask)
};
template <class First, class Second>
struct NamedPair {
    First first;
    Second second;
};
enum class NamedSide : char { buy, sell };

struct [[gnu::packed]] NamedOrder {
    NamedSide side;
    NamedTick ticks[2];
    CARILLON_MEMBERS(side, ticks)
};

// The names of NamedTick, of a NamedPair of them, of an array of those, and of NamedSide.
[[nodiscard]] std::vector<std::string> names_without_rtti();
// The members of NamedOrder.
[[nodiscard]] std::uint64_t members_without_rtti();

}  // namespace carillon::test

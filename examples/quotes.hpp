// SPDX-License-Identifier: Apache-2.0
// The messages between the two programs of this example, quotes_owner.cpp and quotes_feed.cpp.
#pragma once

#include <carillon/carillon.hpp>

// The two programs compare the members if both declare them.
struct Tick {
    double bid, ask;
    CARILLON_MEMBERS(bid, ask)
};
struct Quote {
    double price;
    unsigned count;  // how many ticks the block had seen
    CARILLON_MEMBERS(price, count)
};

struct Reprice {
    unsigned count = 0;

    CARILLON_HD Quote operator()(Tick const& t) { return {(t.bid + t.ask) / 2, ++count}; }
};

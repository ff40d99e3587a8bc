// SPDX-License-Identifier: Apache-2.0
// The messages between risk_owner.cpp and risk_client.cpp.
#pragma once

#include <carillon/carillon.hpp>

struct Limits {
    double highest;
    CARILLON_MEMBERS(highest)
};
struct Order {
    long number;
    double price;
    CARILLON_MEMBERS(number, price)
};
struct Fill {
    long number;
    double price;
    CARILLON_MEMBERS(number, price)
};
struct Position {
    long fills;
    double cost;
    CARILLON_MEMBERS(fills, cost)
};

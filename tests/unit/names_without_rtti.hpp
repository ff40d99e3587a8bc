// SPDX-License-Identifier: Apache-2.0
// Names of types as a file says them that is compiled with -fno-rtti.
#pragma once

#include <string>
#include <vector>

namespace carillon::test {

struct NamedTick {
    double bid;
    double ask;
};
template <class First, class Second>
struct NamedPair {
    First first;
    Second second;
};
enum class NamedSide : char { buy, sell };

// Of NamedTick, of a NamedPair of them, of an array of those, and of NamedSide.
[[nodiscard]] std::vector<std::string> names_without_rtti();

}  // namespace carillon::test

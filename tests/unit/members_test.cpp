// SPDX-License-Identifier: Apache-2.0
#include "carillon/members.hpp"

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>
#include <vector>

#include "unit/names_without_rtti.hpp"

namespace carillon::test {
namespace {

// Two programs compare them, of which one may be compiled so.
TEST(MangledNameTest, isTheSameWithoutTypeInformation) {
    using Pair = NamedPair<NamedTick, NamedTick>;
    std::vector<std::string> const names{typeid(NamedTick).name(), typeid(Pair).name(),
                                         typeid(Pair[3]).name(), typeid(NamedSide).name()};
    EXPECT_EQ(names_without_rtti(), names);
}

}  // namespace
}  // namespace carillon::test

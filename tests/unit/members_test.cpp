// SPDX-License-Identifier: Apache-2.0
#include "carillon/members.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "carillon/detail/host/message_types.hpp"
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

using detail::members_of;

struct Flat {
    double bid;
    float sizes[2];
    CARILLON_MEMBERS(bid, sizes)
};
struct [[gnu::packed]] Packed {
    char side;
    double bid;
    double ask;
    CARILLON_MEMBERS(side, bid, ask)
};
struct [[gnu::packed]] PackedAskFirst {
    char side;
    double ask;
    double bid;
    CARILLON_MEMBERS(side, bid, ask)
};

// Whichever compiler, options and landing of the library.
TEST(MembersTest, areTheSameForEveryCompiler) {
    EXPECT_EQ(members_of<Flat>(), 0xeb19a052531e4001U);
    EXPECT_EQ(members_of<Packed>(), 0xe5864476226c433dU);
    EXPECT_EQ(members_of<NamedOrder>(), members_without_rtti());
}

TEST(MembersTest, ofAPackedStructHaveTheirPlaces) {
    EXPECT_NE(members_of<PackedAskFirst>(), members_of<Packed>());
}

}  // namespace
}  // namespace carillon::test

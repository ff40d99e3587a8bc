// SPDX-License-Identifier: Apache-2.0
#include "carillon/members.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include "unit/names_without_rtti.hpp"

namespace carillon::test {
namespace {

// Two programs compare these names, and one may be compiled without type information.
TEST(MangledNameTest, isTheSameWithoutTypeInformation) {
    using Pair = NamedPair<NamedTick, NamedTick>;
    std::vector<std::string> const names{typeid(NamedTick).name(), typeid(Pair).name(),
                                         typeid(Pair[3]).name(), typeid(NamedSide).name()};
    EXPECT_EQ(names_without_rtti(), names);
}

using detail::members_of;
using detail::no_members;
using detail::unsaid_members;

struct Flat {
    double bid;
    float sizes[2];
    CARILLON_MEMBERS(bid, sizes)
};
struct [[gnu::packed]] PackedTick {
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
    EXPECT_EQ(members_of<PackedTick>(), 0xe5864476226c433dU);
    EXPECT_EQ(members_of<NamedOrder>(), members_without_rtti());
}

TEST(MembersTest, ofAPackedStructHaveTheirPlaces) {
    EXPECT_NE(members_of<PackedAskFirst>(), members_of<PackedTick>());
}

// Two programs may have such types under one name.
struct BidFirst {
    double bid;
    double ask;
    CARILLON_MEMBERS(bid, ask)
};
struct AskFirst {
    double ask;
    double bid;
    CARILLON_MEMBERS(bid, ask)
};
struct Unsaid {
    double bid;
    double ask;
};
template <class Leg>
struct Order {
    Leg leg;
    std::uint64_t id;
    CARILLON_MEMBERS(leg, id)
};

template <template <class> class Holder>
void expectMembersOfWhatIsHeldToCount() {
    std::uint64_t const members = members_of<Order<Holder<BidFirst>>>();
    EXPECT_NE(members, unsaid_members);
    EXPECT_NE(members, no_members);
    EXPECT_NE(members_of<Order<Holder<AskFirst>>>(), members);
    EXPECT_EQ(members_of<Order<Holder<Unsaid>>>(), unsaid_members);
}
template <class T>
using PlainHeld = T;
template <class T>
using Arrays = T[2][3];
template <class T>
using StdArray = std::array<T, 2>;

TEST(MembersTest, ofAMemberThatIsAStructCount) {
    expectMembersOfWhatIsHeldToCount<PlainHeld>();
    expectMembersOfWhatIsHeldToCount<Order>();
}
TEST(MembersTest, ofTheElementsOfAnArrayCount) {
    expectMembersOfWhatIsHeldToCount<Arrays>();
    expectMembersOfWhatIsHeldToCount<StdArray>();
}
TEST(MembersTest, ofWhatATypeOfTheStandardLibraryHoldsCount) {
    expectMembersOfWhatIsHeldToCount<std::optional>();
}

struct Mark {};
union Number {
    double real;
    std::uint64_t whole;
};
TEST(MembersTest, needNotBeSaidOfTypesOfOthersAndOfEmptyOnes) {
    EXPECT_NE(members_of<Order<std::chrono::nanoseconds>>(), unsaid_members);
    EXPECT_NE(members_of<Order<std::complex<float>>>(), unsaid_members);
    EXPECT_NE(members_of<Order<Mark>>(), unsaid_members);
    EXPECT_EQ(members_of<Mark>(), no_members);
    EXPECT_EQ(members_of<int>(), no_members);
    EXPECT_EQ(members_of<Order<Number>>(), unsaid_members);
}

TEST(MembersTest, typesOfTheCompilersAreKnownByTheirNames) {
    for (char const* const name : {"St5arrayIiLm2EE", "NSt6chrono8durationIlSt5ratioILl1ELl1EEEE",
                                   "4dim3", "6float4", "5uint3", "9ulonglong2", "11double4_16a",
                                   "6__half", "14__nv_bfloat162", "N4cuda3std3__45arrayIiLm2EEE"}) {
        EXPECT_TRUE(detail::comes_with_compiler(name)) << name;
    }
    for (char const* const name : {"3Leg", "N5Stuff3LegE", "5float", "6float5", "7float4x",
                                   "7ufloat4", "N4desk6float4E", "6Status", ""}) {
        EXPECT_FALSE(detail::comes_with_compiler(name)) << name;
    }
}

struct Derived : BidFirst {
    std::uint64_t id;
};
struct DerivedAndSaid : BidFirst {
    std::uint64_t id;
    CARILLON_MEMBERS(bid, ask, id)
};
struct BaseLeftOut : BidFirst {
    std::uint64_t id;
    CARILLON_MEMBERS(id)
};
TEST(MembersTest, ofABaseAreNotThoseOfADerivedType) {
    EXPECT_EQ(members_of<Derived>(), unsaid_members);
    EXPECT_EQ(members_of<BaseLeftOut>(), unsaid_members);
    EXPECT_NE(members_of<DerivedAndSaid>(), unsaid_members);
}

struct LeftOut {
    double bid;
    double ask;
    std::uint64_t id;
    CARILLON_MEMBERS(bid, id)
};
struct LastLeftOut {
    double bid;
    double ask;
    CARILLON_MEMBERS(bid)
};
struct alignas(64) PaddedAlone {
    std::uint64_t id;
    char side;
    alignas(32) double bid;
    CARILLON_MEMBERS(bid, side, id)
};
TEST(MembersTest, areUnsaidWhereOneIsLeftOut) {
    EXPECT_EQ(members_of<LeftOut>(), unsaid_members);
    EXPECT_EQ(members_of<LastLeftOut>(), unsaid_members);
    EXPECT_NE(members_of<PaddedAlone>(), unsaid_members);
}

}  // namespace
}  // namespace carillon::test

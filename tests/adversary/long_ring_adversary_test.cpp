// SPDX-License-Identifier: Apache-2.0
// Rings of messages of several lines on the adversary's machine.
#include "adversary/scenarios/ring_scenario.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// Two lines, the second with one quad or with all; and three lines. The consumer looks only at the
// first line until that has arrived.
using TwoLines = SizedWords<56>;
using TwoFullLines = SizedWords<96>;
using ThreeLines = SizedWords<104>;
static_assert(lines_of<TwoLines> == 2 && lines_of<TwoFullLines> == 2 && lines_of<ThreeLines> == 3);

class AdversaryLongRingToDeviceTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryLongRingToDeviceTest,
                         testing::ValuesIn(all_configurations()), configuration_name);

TEST_P(AdversaryLongRingToDeviceTest, messagesOfTwoLinesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2) ? long_ring_to_device<TwoLines>(policies)
                                                     : long_ring_to_device<TwoFullLines>(policies);
    }));
}

TEST_P(AdversaryLongRingToDeviceTest, messagesOfThreeLinesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return long_ring_to_device<ThreeLines>(policies);
    }));
}

class AdversaryLongRingToHostTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryLongRingToHostTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryLongRingToHostTest, messagesOfTwoLinesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2) ? long_ring_to_host<TwoLines>(policies)
                                                     : long_ring_to_host<TwoFullLines>(policies);
    }));
}

TEST_P(AdversaryLongRingToHostTest, messagesOfThreeLinesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return long_ring_to_host<ThreeLines>(policies);
    }));
}

}  // namespace
}  // namespace carillon::test

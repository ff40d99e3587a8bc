// SPDX-License-Identifier: Apache-2.0
// Rings whose end on the device is a warp, on the adversary's machine.
#include "adversary/scenarios/lanes_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryRingLanesTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryRingLanesTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryRingLanesTest, everyLaneTakesEveryMessageOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return LanesScenario(policies, Side::host, OutOfLine::none).to_device();
    }));
}

TEST_P(AdversaryRingLanesTest, dataIsThereForEveryLaneWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return LanesScenario(policies, Side::host, OutOfLine::written).to_device();
    }));
}

TEST_P(AdversaryRingLanesTest, linesOfQuadsArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return LanesScenario(policies, Side::device, OutOfLine::none).to_host();
    }));
}

TEST_P(AdversaryRingLanesTest, dataOfTheFirstLaneIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return LanesScenario(policies, Side::device, OutOfLine::written).to_host();
    }));
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Channels on the adversary's machine.
#include "adversary/scenarios/channel_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryChannelTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryChannelTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryChannelTest, everyRequestGetsItsReplyAndTheLoopStartsAndEnds) {
    EXPECT_TRUE(holds_for_all_seeds(
        GetParam(), [](Policies const& policies) { return ChannelScenario(policies).run(); }));
}

}  // namespace
}  // namespace carillon::test

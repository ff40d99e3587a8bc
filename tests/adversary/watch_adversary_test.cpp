// SPDX-License-Identifier: Apache-2.0
// Watched channels on the adversary's machine.
#include "adversary/scenarios/watch_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryWatchTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryWatchTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryWatchTest, everyRequestOfEveryChannelIsHeardAndAnswered) {
    EXPECT_TRUE(holds_for_all_seeds(
        GetParam(), [](Policies const& policies) { return WatchScenario<>(policies).run(); }));
}

// Their doorbells are ahead of some of a request's lines, or behind them.
TEST_P(AdversaryWatchTest, requestsOfSeveralLinesAreHeardAndAnswered) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return WatchScenario<SizedWords<96>, SizedWords<104>>(policies).run();
    }));
}

}  // namespace
}  // namespace carillon::test

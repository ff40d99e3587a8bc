// SPDX-License-Identifier: Apache-2.0
// The copies of a DeviceReader and a DeviceWriter on the adversary's machine.
#include "adversary/scenarios/copy_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryCopyTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryCopyTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryCopyTest, whatWasAskedForIsCopiedAndThereWhenItIsAnswered) {
    EXPECT_TRUE(holds_for_all_seeds(
        GetParam(), [](Policies const& policies) { return CopyScenario(policies).run(); }));
}

}  // namespace
}  // namespace carillon::test

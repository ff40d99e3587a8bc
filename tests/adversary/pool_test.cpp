// SPDX-License-Identifier: Apache-2.0
// A pooled kernel's traffic on the adversary's machine.
#include "adversary/scenarios/pool_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryPoolTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryPoolTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryPoolTest, everyReplyIsWholeHasItsDataAndGoesToWhoAsked) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return PoolScenario(policies, policies.device_far()).run();
    }));
}

constexpr Configuration broken_pool{{}, {StoreKind::avx2, PublishMode::one_step}};

struct WithoutRelease : Policies::DeviceFar {
    void release() const {}
};

TEST(AdversaryBreaksTest, pooledRepliesAheadOfTheirData) {
    EXPECT_TRUE(
        fails_for_some_seed(broken_pool, "is ahead of its data", [](Policies const& policies) {
            return PoolScenario(policies, WithoutRelease{policies.device_far()}).run();
        }));
}

}  // namespace
}  // namespace carillon::test

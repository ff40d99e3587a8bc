// SPDX-License-Identifier: Apache-2.0
// Leases of blocks on the adversary's machine.
#include "adversary/scenarios/lease_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryLeaseTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryLeaseTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

std::string leases(Policies const& policies) { return LeaseScenario(policies).run(); }

TEST_P(AdversaryLeaseTest, eachIsServedInItsOwnMemoryAndNeverAfterItIsOver) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), leases));
}

// On this device even a store fence does not keep the CPU's writes in order.
TEST(AdversaryReadBackLeaseTest, placeComesBeforeItsNumber) {
    Configuration const configuration{
        {.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true};
    EXPECT_TRUE(holds_for_all_seeds(configuration, leases));
}

}  // namespace
}  // namespace carillon::test

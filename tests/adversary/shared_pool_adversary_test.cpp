// SPDX-License-Identifier: Apache-2.0
// Clients of other processes at all blocks of a kernel, on the adversary's machine.
#include "adversary/scenarios/shared_pool_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversarySharedPoolTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversarySharedPoolTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversarySharedPoolTest, eachRequestIsServedOnceAndItsReplyIsWholeAndHasItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return SharedPoolScenario(policies, policies.device_far(), policies.device_near()).run();
    }));
}

// On this device even a store fence does not keep the CPU's writes in order.
TEST(AdversaryReadBackSharedPoolTest, newsComeBehindTheNumber) {
    Configuration const configuration{
        {.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true};
    EXPECT_TRUE(holds_for_all_seeds(configuration, [](Policies const& policies) {
        return SharedPoolScenario(policies, policies.device_far(), policies.device_near()).run();
    }));
}

class AdversarySharedPoolBulkTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversarySharedPoolBulkTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversarySharedPoolBulkTest, repliesByBulkCopiesAreWhole) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        Machine& machine = policies.machine();
        if (machine.random().one_in(8)) machine.drag_copies();
        BasicDeviceBulkFar<AdversaryBulkGpu> const far(true, AdversaryBulkGpu(machine));
        return SharedPoolScenario(policies, far, policies.device_near(), OutOfLine::none).run();
    }));
}

constexpr Configuration broken_shared_pool{{}, {StoreKind::avx2, PublishMode::one_step}};

// A device on which every claim succeeds, even if another block has claimed before.
struct ClaimsAnyhow : Policies::DeviceNear {
    std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                   std::uint64_t desired) const {
        (void)Policies::DeviceNear::compare_exchange(to, expected, desired);
        return expected;
    }
};
TEST(AdversaryBreaksTest, poolWhoseBlocksDoNotClaim) {
    EXPECT_TRUE(
        fails_for_some_seed(broken_shared_pool, "served twice", [](Policies const& policies) {
            return SharedPoolScenario(policies, policies.device_far(),
                                      ClaimsAnyhow{policies.device_near()})
                .run();
        }));
}

struct AheadOfItsData : Policies::DeviceFar {
    void release() const {}
};
TEST(AdversaryBreaksTest, sharedPoolsRepliesAheadOfTheirData) {
    EXPECT_TRUE(fails_for_some_seed(
        broken_shared_pool, "is ahead of its data", [](Policies const& policies) {
            return SharedPoolScenario(policies, AheadOfItsData{policies.device_far()},
                                      policies.device_near())
                .run();
        }));
}

}  // namespace
}  // namespace carillon::test

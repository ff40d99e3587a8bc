// SPDX-License-Identifier: Apache-2.0
// A pooled kernel's traffic on the adversary's machine.
#include "adversary/scenarios/pool_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryPoolTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryPoolTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryPoolTest, everyReplyIsWholeHasItsDataAndGoesToWhoAsked) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return PoolScenario(policies, policies.device_far()).run();
    }));
}

// Requests, with where the reply goes, and replies: of two lines, and of three.
using Two = AskedWords<8>;
using Three = AskedWords<13>;
static_assert(lines_of<AddressedRequest<Two>> == 2 && lines_of<Two> == 2);
static_assert(lines_of<AddressedRequest<Three>> == 3 && lines_of<Three> == 3);

TEST_P(AdversaryPoolTest, repliesOfSeveralLinesAreWholeAndGoToWhoAsked) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        auto const far = policies.device_far();
        using Far = Policies::DeviceFar;
        return policies.machine().random().one_in(2)
                   ? PoolScenario<Far, Two, Three>(policies, far).run()
                   : PoolScenario<Far, Three, Two>(policies, far).run();
    }));
}

// The host's stores do not matter for bulk copies, which the device sends.
class AdversaryPoolBulkTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryPoolBulkTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryPoolBulkTest, repliesByBulkCopiesAreWholeAndGoToWhoAsked) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        using Far = BasicDeviceBulkFar<AdversaryBulkGpu>;
        Machine& machine = policies.machine();
        if (machine.random().one_in(8)) machine.drag_copies();
        Far const far(true, AdversaryBulkGpu(machine));
        return machine.random().one_in(2)
                   ? PoolScenario<Far, Two, Three>(policies, far, OutOfLine::none).run()
                   : PoolScenario<Far, Two, AskedOfHost>(policies, far, OutOfLine::none).run();
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

// SPDX-License-Identifier: Apache-2.0
// Flags and doorbells on the adversary's machine.
#include "adversary/scenarios/count_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryFlagTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryFlagTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryFlagTest, toTheDeviceNeverGoesBackAndBringsItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return count<AsFlag>(policies, Side::host, policies.host_far(), policies.device_near(),
                             OutOfLine::written);
    }));
}

TEST_P(AdversaryFlagTest, toTheHostNeverGoesBackAndBringsItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return count<AsFlag>(policies, Side::device, policies.device_far(), policies.host_near(),
                             OutOfLine::written);
    }));
}

TEST_P(AdversaryFlagTest, withoutDataArrivesAllTheSame) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return count<AsFlag>(policies, Side::host, policies.host_far(), policies.device_near(),
                             OutOfLine::none);
    }));
}

class AdversaryDoorbellTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryDoorbellTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryDoorbellTest, onTheDeviceLosesNoRingNorWhatWasWrittenBefore) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return count<AsDoorbell>(policies, Side::host, policies.host_far(), policies.device_near(),
                                 OutOfLine::written);
    }));
}

TEST_P(AdversaryDoorbellTest, onTheHostLosesNoRingNorWhatWasWrittenBefore) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return count<AsDoorbell>(policies, Side::device, policies.device_far(),
                                 policies.host_near(), OutOfLine::written);
    }));
}

// On this device even a store fence does not keep the CPU's writes in order.
TEST(AdversaryReadBackFlagTest, toTheDeviceBringsItsData) {
    Configuration const configuration{
        {.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true};
    EXPECT_TRUE(holds_for_all_seeds(configuration, [](Policies const& policies) {
        return count<AsFlag>(policies, Side::host, policies.host_far(), policies.device_near(),
                             OutOfLine::written);
    }));
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Rings on the adversary's machine.
#include "adversary/scenarios/ring_scenario.hpp"

namespace carillon::test {
namespace {

class AdversaryRingToDeviceTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryRingToDeviceTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryRingToDeviceTest, everyMessageArrivesOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::none);
    }));
}

TEST_P(AdversaryRingToDeviceTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::written);
    }));
}

TEST_P(AdversaryRingToDeviceTest, batchesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        bool const data = policies.machine().random().one_in(2);
        return batches_to_device(policies, data ? OutOfLine::written : OutOfLine::none);
    }));
}

TEST_P(AdversaryRingToDeviceTest, messagesArriveWhicheverPagesTheDeviceChoosesAndWhenever) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        bool const data = policies.machine().random().one_in(2);
        return ring_in_pairs<ToldPages>(policies, data ? OutOfLine::written : OutOfLine::none)
            .run();
    }));
}

TEST_P(AdversaryRingToDeviceTest, batchesArriveWhicheverPagesTheDeviceChoosesAndWhenever) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_in_pairs<ToldPages>(policies, OutOfLine::none).in_batches().run();
    }));
}

class AdversaryRingToHostTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryRingToHostTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryRingToHostTest, everyMessageArrivesOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_host(policies, OutOfLine::none);
    }));
}

TEST_P(AdversaryRingToHostTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_host(policies, OutOfLine::written);
    }));
}

TEST_P(AdversaryRingToHostTest, batchesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), batches_to_host));
}

// A device to which even a store fence does not keep the CPU's writes in order.
class AdversaryReadBackTest : public testing::TestWithParam<Configuration> {};
constexpr Bus unordered_words{.pieces = Pieces::words, .fences_order = false};
INSTANTIATE_TEST_SUITE_P(
    With, AdversaryReadBackTest,
    testing::Values(
        Configuration{{.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true},
        Configuration{unordered_words, {StoreKind::movdir64b, PublishMode::one_step}, true},
        Configuration{unordered_words, {StoreKind::avx2, PublishMode::two_step}, true}),
    configuration_name);

TEST_P(AdversaryReadBackTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::written);
    }));
}

}  // namespace
}  // namespace carillon::test

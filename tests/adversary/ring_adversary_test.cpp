// SPDX-License-Identifier: Apache-2.0
// Rings on the adversary's machine.
#include "adversary/scenarios/ring_scenario.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryRingToDeviceTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryRingToDeviceTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryRingToDeviceTest, everyMessageArrivesOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::none).run();
    }));
}

TEST_P(AdversaryRingToDeviceTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::written).run();
    }));
}

TEST_P(AdversaryRingToDeviceTest, batchesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        bool const data = policies.machine().random().one_in(2);
        return ring_to_device(policies, data ? OutOfLine::written : OutOfLine::none)
            .in_batches()
            .run();
    }));
}

TEST_P(AdversaryRingToDeviceTest, messagesArriveWhicheverPagesTheDeviceChoosesAndWhenever) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        bool const data = policies.machine().random().one_in(2);
        return ring_in_pairs(policies, data ? OutOfLine::written : OutOfLine::none).run();
    }));
}

TEST_P(AdversaryRingToDeviceTest, batchesArriveWhicheverPagesTheDeviceChoosesAndWhenever) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_in_pairs(policies, OutOfLine::none).in_batches().run();
    }));
}

// Rows of four messages, each of one quad or of four.
TEST_P(AdversaryRingToDeviceTest, rowsHaveTheirDataAndComeWhicheverPagesTheDeviceChooses) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        OutOfLine const data = OutOfLine::written;
        switch (policies.machine().random().below(3)) {
            case 0:
                return ring_in_pairs(policies, data).in_rows().run();
            case 1:
                return ring_to_device<SizedWords<8>>(policies, data).in_rows().run();
            default:
                return ring_to_device<Whole>(policies, data).in_rows().run();
        }
    }));
}

// Rows rely on an order that nothing documents (docs/dev/guarantees.md): only the load of a row's
// last message is an acquire.
TEST(AdversaryBreaksTest, aRowOnADeviceThatLoadsAheadOfABranch) {
    Configuration const ordinary{{}, {StoreKind::avx2, PublishMode::one_step}};
    EXPECT_TRUE(fails_for_some_seed(ordinary, "other data", [](Policies const& policies) {
        return ring_to_device<SizedWords<8>>(policies, OutOfLine::written).in_rows(false).run();
    }));
}

class AdversaryRingToHostTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryRingToHostTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryRingToHostTest, everyMessageArrivesOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_host(policies, OutOfLine::none).run();
    }));
}

TEST_P(AdversaryRingToHostTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_host(policies, OutOfLine::written).run();
    }));
}

TEST_P(AdversaryRingToHostTest, batchesArriveOnceWholeAndInOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ring_to_host(policies, OutOfLine::written).in_batches().run();
    }));
}

// On this device even a store fence does not keep the CPU's writes in order.
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
        return ring_to_device(policies, OutOfLine::written).run();
    }));
}

}  // namespace
}  // namespace carillon::test

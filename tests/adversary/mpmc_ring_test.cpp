// SPDX-License-Identifier: Apache-2.0
// MPMC rings on the adversary's machine.
#include "adversary/scenarios/mpmc_ring_scenario.hpp"

namespace carillon::test {
namespace {

constexpr Bus quads{};
constexpr Bus words{.pieces = Pieces::words};

[[nodiscard]] std::vector<Configuration> mpmc_configurations() {
    using enum StoreKind;
    using enum PublishMode;
    return {{quads, {sse2, one_step}},
            {quads, {sse2, two_step}},
            {quads, {movdir64b, one_step, avx512}},
            {words, {movdir64b, one_step}},
            {words, {avx2, two_step}},
            {words, {avx512, two_step}},
            {{.write_combining = false, .atom = 64}, {cached, one_step}},
            {{.atom = 256}, {sse2, two_step}},
            {{.fences_order = false}, {avx2, one_step}, true},
            {{.pieces = Pieces::words, .fences_order = false}, {avx2, two_step}, true}};
}

class AdversaryMpmcRingTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryMpmcRingTest, testing::ValuesIn(mpmc_configurations()),
                         configuration_name);

TEST_P(AdversaryMpmcRingTest, everyMessageToTheDeviceArrivesOnceWholeAndInItsProducersOrder) {
    EXPECT_TRUE(holds_for_all_seeds(
        GetParam(), [](Policies const& policies) { return mpmc_to_device(policies, {}); }));
}

TEST_P(AdversaryMpmcRingTest, dataIsThereWhenTheMessageThatNamesItIs) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mpmc_to_device(policies, {.data = OutOfLine::written});
    }));
}

// At any access: ahead of the claim, in it, half way through the lines, before the record is done.
TEST_P(AdversaryMpmcRingTest, producerThatDiesTakesNoMessageOfTheLivingWithIt) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mpmc_to_device(policies, {.deaths = 1});
    }));
}

TEST_P(AdversaryMpmcRingTest, producersThatDieBringTheirDataOrNoMessage) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mpmc_to_device(policies, {.data = OutOfLine::written, .deaths = 2});
    }));
}

class AdversaryMpmcRingToHostTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryMpmcRingToHostTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryMpmcRingToHostTest, everyMessageArrivesWithItsDataOnceWholeAndInItsProducersOrder) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        unsigned const consumers = 1 + policies.machine().random().below(2);
        return mpmc_to_host(policies,
                            {.producers = 2, .consumers = consumers, .data = OutOfLine::written});
    }));
}

}  // namespace
}  // namespace carillon::test

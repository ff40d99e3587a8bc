// SPDX-License-Identifier: Apache-2.0
// MPMC rings on the adversary's machine.
#include "adversary/scenarios/mpmc_producers.hpp"

namespace carillon::test {
using namespace detail;
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

// A producer may die at any access: ahead of the claim, in it, half way through the lines, before
// the record is done.
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

// Messages of two lines and of three. The consumer looks only at the first line until that has
// arrived.
using MpmcTwoLines = MpmcWords<8>;
using MpmcThreeLines = MpmcWords<13>;
static_assert(lines_of<MpmcTwoLines> == 2 && lines_of<MpmcThreeLines> == 3);

std::string long_mpmc_to_device(Policies const& policies, MpmcPlan plan) {
    return policies.machine().random().one_in(2) ? mpmc_to_device<MpmcTwoLines>(policies, plan)
                                                 : mpmc_to_device<MpmcThreeLines>(policies, plan);
}

TEST_P(AdversaryMpmcRingTest, messagesOfSeveralLinesArriveWithTheirData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return long_mpmc_to_device(policies, {.data = OutOfLine::written});
    }));
}

// Half way through the lines of one message, too.
TEST_P(AdversaryMpmcRingTest, producerOfSeveralLinesThatDiesTakesNoMessageOfTheLivingWithIt) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return long_mpmc_to_device(policies, {.data = OutOfLine::written, .deaths = 1});
    }));
}

TEST_P(AdversaryMpmcRingTest, messagesThatAreTakenInRowsHaveTheirData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        unsigned const deaths = policies.machine().random().below(2);
        return mpmc_to_rows(policies, {.data = OutOfLine::written, .deaths = deaths});
    }));
}

TEST_P(AdversaryMpmcRingTest, lanesThatShareAStripeOutTakeEveryMessageWithItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        Random& random = policies.machine().random();
        MpmcPlan const plan{
            .producers = 2, .data = OutOfLine::written, .lanes = 2 + random.below(2)};
        return random.one_in(2) ? mpmc_to_device(policies, plan)
                                : long_mpmc_to_device(policies, plan);
    }));
}

TEST_P(AdversaryMpmcRingTest, consumerThatEndsLeavesTheRestOfItsStripeToTheOthers) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        Random& random = policies.machine().random();
        unsigned const lanes = random.one_in(2) ? 0 : 2 + random.below(2);
        return mpmc_to_device(policies, {.producers = 2,
                                         .data = OutOfLine::written,
                                         .deaths = lanes == 0 ? random.below(2) : 0,
                                         .lanes = lanes,
                                         .hands_on = true});
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

TEST_P(AdversaryMpmcRingToHostTest, consumerThatEndsLeavesTheRestOfItsStripeToTheOthers) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        unsigned const consumers = 1 + policies.machine().random().below(2);
        return mpmc_to_host(
            policies,
            {.producers = 2, .consumers = consumers, .data = OutOfLine::written, .hands_on = true});
    }));
}

TEST_P(AdversaryMpmcRingToHostTest, messagesOfSeveralLinesArriveWithTheirData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        MpmcPlan const plan{.producers = 2, .data = OutOfLine::written};
        return policies.machine().random().one_in(2) ? mpmc_to_host<MpmcTwoLines>(policies, plan)
                                                     : mpmc_to_host<MpmcThreeLines>(policies, plan);
    }));
}

}  // namespace
}  // namespace carillon::test

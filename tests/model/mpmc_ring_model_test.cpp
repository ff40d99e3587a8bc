// SPDX-License-Identifier: Apache-2.0
// The ring that many share, both ways, and to the device with a producer that may die.
#include "model/models/mpmc_ring_model.hpp"
#include "model/models/mpmc_traffic_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

template <MpmcShape shape>
void expect_success_with_deaths(Search const& search) {
    using Model = MpmcRingModel<shape>;
    Model::deaths = 0;
    Model::skips = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_GT(Model::deaths, 0U);  // or nothing was checked
    EXPECT_GT(Model::skips, 0U);
}

TEST(MpmcRingModelTest, oneSwitchWithDeaths) {
    expect_success_with_deaths<one_message>(switching_at_most(1));
    expect_success_with_deaths<two_messages>(switching_at_most(1));
}
TEST(MpmcRingModelTest, randomExecutionsWithDeaths) {
    expect_success_with_deaths<stripes_of_one>(random_executions(200'000));
    expect_success_with_deaths<stripes_of_two>(random_executions(100'000));
    expect_success_with_deaths<two_lines>(random_executions(100'000));
}

template <class Way, MpmcPlan plan>
void expect_success(Search const& search) {
    using Model = MpmcTrafficModel<Way, plan>;
    Model::most_sent = 0;
    Model::most_taken = 0;
    Model::most_by_the_first = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_sent, Model::all_messages);  // or nothing was checked
    EXPECT_EQ(Model::most_taken, plan.polls == 0 ? Model::all_messages : plan.polls);
    // Or nothing was left half way.
    EXPECT_EQ(Model::most_by_the_first != 0, plan.polls_of_the_first != 0);
}

TEST(MpmcRingModelTest, everyExecutionToTheDeviceWithoutDataIsRight) {
    expect_success<MpmcToDevice<>, one_each>(every_execution);
    expect_success<MpmcToDevice<>, one_each_and_a_slot_again>(every_execution);
}
TEST(MpmcRingModelTest, everyExecutionToTheHostIsRight) {
    expect_success<MpmcToHost<>, one_each_with_data>(every_execution);
    expect_success<MpmcToHost<>, one_each_and_a_slot_again>(every_execution);
}
TEST(MpmcRingModelTest, twoSwitches) {
    expect_success<MpmcToDevice<>, one_and_two>(switching_at_most(2));
    expect_success<MpmcToHost<>, one_and_two>(switching_at_most(2));
}
TEST(MpmcRingModelTest, randomExecutionsToTheDevice) {
    expect_success<MpmcToDevice<>, four_each>(random_executions(50'000));
}

TEST(MpmcRingModelTest, consumerThatEndsWithOneSwitch) {
    expect_success<MpmcToDevice<>, leaves_a_stripe_of_one>(switching_at_most(1));
    expect_success<MpmcToHost<>, leaves_a_stripe_of_one>(switching_at_most(1));
}
TEST(MpmcRingModelTest, randomExecutionsOfAConsumerThatEnds) {
    expect_success<MpmcToDevice<>, leaves_a_stripe_of_two>(random_executions(10'000));
    expect_success<MpmcToHost<>, leaves_a_stripe_of_two>(random_executions(10'000));
}
TEST(MpmcRingModelTest, randomExecutionsToTheHost) {
    expect_success<MpmcToHost<>, four_each>(random_executions(50'000));
}

}  // namespace
}  // namespace carillon::test

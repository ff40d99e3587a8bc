// SPDX-License-Identifier: Apache-2.0
// The ring that many share, both ways, and to the device with a producer that may die.
#include "model/models/shared_ring_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

template <SharedShape shape>
void expect_success_with_deaths(Search const& search) {
    using Model = SharedRingModel<shape>;
    Model::deaths = 0;
    Model::skips = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_GT(Model::deaths, 0U);  // or nothing was checked
    EXPECT_GT(Model::skips, 0U);
}

TEST(SharedRingModelTest, oneSwitchWithDeaths) {
    expect_success_with_deaths<one_message>(switching_at_most(1));
    expect_success_with_deaths<two_messages>(switching_at_most(1));
}
TEST(SharedRingModelTest, randomExecutionsWithDeaths) {
    expect_success_with_deaths<stripes_of_one>(random_executions(200'000));
    expect_success_with_deaths<stripes_of_two>(random_executions(100'000));
}

template <class Way, SharedTraffic traffic>
void expect_success(Search const& search) {
    using Model = SharedTrafficModel<Way, traffic>;
    Model::most_sent = 0;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_sent, Model::all_messages);  // or nothing was checked
    EXPECT_EQ(Model::most_taken, traffic.polls == 0 ? Model::all_messages : traffic.polls);
}

TEST(SharedRingModelTest, everyExecutionToTheDeviceWithoutDataIsRight) {
    expect_success<SharedToDevice<>, one_each>(every_execution);
    expect_success<SharedToDevice<>, one_each_and_a_slot_again>(every_execution);
}
TEST(SharedRingModelTest, everyExecutionToTheHostIsRight) {
    expect_success<SharedToHost<>, one_each_with_data>(every_execution);
    expect_success<SharedToHost<>, one_each_and_a_slot_again>(every_execution);
}
TEST(SharedRingModelTest, twoSwitches) {
    expect_success<SharedToDevice<>, one_and_two>(switching_at_most(2));
    expect_success<SharedToHost<>, one_and_two>(switching_at_most(2));
}
TEST(SharedRingModelTest, randomExecutionsToTheDevice) {
    expect_success<SharedToDevice<>, four_each>(random_executions(50'000));
}
TEST(SharedRingModelTest, randomExecutionsToTheHost) {
    expect_success<SharedToHost<>, four_each>(random_executions(50'000));
}

}  // namespace
}  // namespace carillon::test

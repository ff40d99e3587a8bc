// SPDX-License-Identifier: Apache-2.0
// The ring between a CPU and a GPU.
#include "model/models/ring_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

using Reduced = Hardware<first_and_last_quad>;
using Full = Hardware<all_quads>;

TEST(RingModelTest, everyExecutionToTheDeviceIsRight) {
    expect_success<ToDevice<Reduced>, few_tries>(every_execution);
}
TEST(RingModelTest, everyExecutionToTheHostIsRight) {
    expect_success<ToHost<Reduced>, few_tries>(every_execution);
}
TEST(RingModelTest, everyExecutionWithoutDataIsRight) {
    expect_success<ToDevice<Reduced>, without_data>(every_execution);
    expect_success<ToHost<Reduced>, without_data>(every_execution);
}

TEST(RingModelTest, twoSwitchesToTheDeviceWithAllQuads) {
    expect_success<ToDevice<Full>, endless>(switching_at_most(2));
}
TEST(RingModelTest, twoSwitchesToTheHostWithAllQuads) {
    expect_success<ToHost<Full>, endless>(switching_at_most(2));
}

TEST(RingModelTest, randomExecutionsToTheDevice) {
    expect_success<ToDevice<Full>, four_slots>(random_executions(200'000));
    expect_success<ToDevice<Full>, eight_slots>(random_executions(100'000));
}
TEST(RingModelTest, randomExecutionsToTheHost) {
    expect_success<ToHost<Full>, four_slots>(random_executions(200'000));
    expect_success<ToHost<Full>, eight_slots>(random_executions(100'000));
}

TEST(RingModelTest, everyExecutionInPairsOfPagesIsRight) {
    expect_success<ToDevice<Reduced>, few_in_pairs, ToldPages, EitherPages>(every_execution);
}
TEST(RingModelTest, oneSwitchInPairsOfPagesWithAllQuads) {
    expect_success<ToDevice<Full>, endless, ToldPages, EitherPages>(switching_at_most(1));
}
TEST(RingModelTest, randomExecutionsInPairsOfPages) {
    expect_success<ToDevice<Full>, four_slots, ToldPages, EitherPages>(random_executions(100'000));
}

TEST(RingModelTest, everyExecutionBetweenTwoHostThreadsIsRight) {
    expect_success<HostToHost<first_quad>, few_tries>(every_execution);
    expect_success<HostToHost<first_and_last_quad>, without_data>(every_execution);
}
TEST(RingModelTest, randomExecutionsBetweenTwoHostThreads) {
    expect_success<HostToHost<all_quads>, four_slots>(random_executions(100'000));
    expect_success<HostToHost<all_quads>, eight_slots>(random_executions(50'000));
}

// A line takes four stores of each quad here: with one quad the search is exhaustive.
template <Quads quads, Evicted evicted>
using TwoSteps = ToDevice<TwoStepHardware<quads, evicted>>;

TEST(RingModelTest, everyExecutionInTwoStepsIsRight) {
    expect_success<TwoSteps<first_quad, Evicted::low>, without_data>(every_execution);
    expect_success<TwoSteps<first_quad, Evicted::high>, without_data>(every_execution);
}
TEST(RingModelTest, oneSwitchInTwoStepsWithData) {
    expect_success<TwoSteps<first_and_last_quad, Evicted::low>, endless>(switching_at_most(1));
    expect_success<TwoSteps<first_and_last_quad, Evicted::high>, endless>(switching_at_most(1));
}
TEST(RingModelTest, randomExecutionsInTwoSteps) {
    expect_success<TwoSteps<all_quads, Evicted::either>, four_slots>(random_executions(100'000));
    expect_success<TwoSteps<all_quads, Evicted::either>, eight_slots>(random_executions(50'000));
}

}  // namespace
}  // namespace carillon::test

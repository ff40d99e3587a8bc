// SPDX-License-Identifier: Apache-2.0
// The ring between a CPU and a GPU.
#include "model/models/ring_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
using namespace detail;
namespace {

using Reduced = Hardware<first_and_last_quad>;
using Full = Hardware<all_quads>;
// A line takes four stores per quad here: with one quad the search is exhaustive.
template <Quads quads, Evicted evicted>
using TwoSteps = ToDevice<TwoStepHardware<quads, evicted>>;

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

TEST(RingModelTest, everyExecutionInBatchesInPairsOfPagesIsRight) {
    expect_success<ToDevice<Reduced>, batch_in_pairs, ToldPages, EitherPages>(every_execution);
}
TEST(RingModelTest, randomExecutionsInBatchesInPairsOfPages) {
    expect_success<ToDevice<Full>, rows, ToldPages, EitherPages>(random_executions(50'000));
    expect_success<ToDevice<Full>, long_batches, ToldPages, EitherPages>(random_executions(50'000));
}

// Messages of two lines, one quad of each.
using Long = InTwoLines<ToDevice<Hardware<first_quad>>>;
using LongToHost = InTwoLines<ToHost<Hardware<first_quad>>>;

TEST(RingModelTest, everyExecutionOfTwoLinesIsRight) {
    expect_success<Long, few_long>(every_execution);
    expect_success<LongToHost, few_long>(every_execution);
}
TEST(RingModelTest, oneSwitchOfTwoLinesWithAllQuads) {
    expect_success<InTwoLines<ToDevice<Full>>, endless>(switching_at_most(1));
    expect_success<InTwoLines<ToHost<Full>>, endless>(switching_at_most(1));
}
TEST(RingModelTest, randomExecutionsOfTwoLines) {
    expect_success<InTwoLines<ToDevice<Full>>, long_batches>(random_executions(50'000));
    expect_success<InTwoLines<ToHost<Full>>, long_batches>(random_executions(50'000));
    expect_success<InTwoLines<ToDevice<Emulated<all_quads>>>, long_batches>(
        random_executions(50'000));
    expect_success<InTwoLines<TwoSteps<all_quads, Evicted::either>>, long_batches>(
        random_executions(50'000));
}

// Two messages at once, pushed and taken.
TEST(RingModelTest, everyExecutionOfTwoAtOnceIsRight) {
    expect_success<ToDevice<Reduced>, few_at_once>(every_execution);
}
TEST(RingModelTest, twoSwitchesOfTwoAtOnce) {
    expect_success<ToDevice<Reduced>, two_at_once>(switching_at_most(2));
}
TEST(RingModelTest, randomExecutionsInRows) {
    expect_success<ToDevice<Full>, rows>(random_executions(100'000));
    expect_success<ToDevice<Emulated<all_quads>>, rows>(random_executions(50'000));
}

TEST(RingModelTest, twoSwitchesWithCreditsInBatches) {
    expect_success<ToDevice<Hardware<first_quad>>, batches_of_credit>(switching_at_most(2));
    expect_success<ToHost<Hardware<first_quad>>, batches_of_credit>(switching_at_most(2));
}

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

// SPDX-License-Identifier: Apache-2.0
// A ring of chunks between a CPU and a GPU, and on the emulated device.
#include "model/models/chunk_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

using Reduced = Hardware<first_and_last_quad>;

TEST(ChunkModelTest, everyExecutionToTheDeviceIsRight) {
    expect_chunks<Reduced, few_chunks>(every_execution);
}
TEST(ChunkModelTest, everyExecutionToTheDeviceCommittedBackwardsIsRight) {
    expect_chunks<Reduced, few_backwards>(every_execution);
}
TEST(ChunkModelTest, everyExecutionToTheDeviceWithADroppedOneIsRight) {
    expect_chunks<Reduced, few_and_one_dropped>(every_execution);
}
TEST(ChunkModelTest, oneSwitchOverFourLaps) {
    expect_chunks<Hardware<all_quads>, four_laps>(switching_at_most(1));
    expect_chunks<Hardware<all_quads>, four_laps_backwards>(switching_at_most(1));
}
TEST(ChunkModelTest, randomExecutionsOverFourLaps) {
    expect_chunks<Hardware<all_quads>, four_laps>(random_executions(50'000));
    expect_chunks<Hardware<all_quads>, four_laps_backwards>(random_executions(50'000));
    expect_chunks<Emulated<all_quads>, four_laps_backwards>(random_executions(20'000));
}

}  // namespace
}  // namespace carillon::test

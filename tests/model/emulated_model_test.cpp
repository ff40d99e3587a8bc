// SPDX-License-Identifier: Apache-2.0
// The emulated device's ring: quads of two word atomics, which cpu_atomics.hpp puts in order.
#include <gtest/gtest.h>

#include "model/models/ring_model.hpp"

namespace carillon::test {
namespace {

TEST(EmulatedModelTest, everyExecutionToTheDeviceIsRight) {
    expect_success<ToDevice<Emulated<first_quad>>, few_tries>(every_execution);
}
TEST(EmulatedModelTest, everyExecutionToTheHostIsRight) {
    expect_success<ToHost<Emulated<first_quad>>, few_tries>(every_execution);
}
TEST(EmulatedModelTest, everyExecutionWithoutDataIsRight) {
    expect_success<ToDevice<Emulated<first_quad>>, without_data>(every_execution);
    expect_success<ToHost<Emulated<first_quad>>, without_data>(every_execution);
}
TEST(EmulatedModelTest, randomExecutions) {
    expect_success<ToDevice<Emulated<all_quads>>, four_slots>(random_executions(100'000));
    expect_success<ToHost<Emulated<all_quads>>, eight_slots>(random_executions(50'000));
}

}  // namespace
}  // namespace carillon::test

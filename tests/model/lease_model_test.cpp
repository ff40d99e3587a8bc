// SPDX-License-Identifier: Apache-2.0
// Leases: nothing of one client is served, or left, in the memory of another.
#include "model/models/lease_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

using OfWords = Hardware<all_quads>;
using OfThreads = Emulated<all_quads>;

TEST(LeaseModelTest, randomExecutions) {
    EXPECT_EQ(outcome<LeaseModel<OfWords>>(random_executions(20'000)), "SUCCESS");
    EXPECT_EQ(outcome<LeaseModel<OfThreads>>(random_executions(20'000)), "SUCCESS");
}
TEST(LeaseModelTest, everyExecutionWithFewSwitchesOfThreads) {
    EXPECT_EQ(outcome<LeaseModel<OfWords>>(switching_at_most(2)), "SUCCESS");
    EXPECT_EQ(outcome<LeaseModel<OfThreads>>(switching_at_most(2)), "SUCCESS");
}

TEST(OwnSetModelTest, everyExecutionIsRight) {
    EXPECT_EQ(outcome<OwnSetModel<OfWords>>(every_execution), "SUCCESS");
    EXPECT_EQ(outcome<OwnSetModel<OfThreads>>(every_execution), "SUCCESS");
}

}  // namespace
}  // namespace carillon::test

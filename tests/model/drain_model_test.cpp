// SPDX-License-Identifier: Apache-2.0
// Submits beside a drain: every request that was sent is served.
#include "model/models/drain_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

TEST(DrainModelTest, everyExecutionServesWhatWasSent) {
    EXPECT_EQ(outcome<DrainModel<FullFences>>(every_execution), "SUCCESS");
}
TEST(DrainModelTest, randomExecutions) {
    EXPECT_EQ(outcome<DrainModel<FullFences>>(random_executions(20'000)), "SUCCESS");
}

}  // namespace
}  // namespace carillon::test

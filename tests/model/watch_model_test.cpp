// SPDX-License-Identifier: Apache-2.0
// Three calls through each of two watched channels. A doorbell is looked at like a flag: relaxed.
#include "model/models/watch_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

TEST(WatchModelTest, randomExecutionsOnHardware) {
    EXPECT_EQ(outcome<WatchModel<Hardware<first_and_last_quad>>>(random_executions(15'000)),
              "SUCCESS");
}
TEST(WatchModelTest, randomExecutionsOnTheEmulatedDevice) {
    EXPECT_EQ(outcome<WatchModel<Emulated<first_and_last_quad>>>(random_executions(8'000)),
              "SUCCESS");
}

}  // namespace
}  // namespace carillon::test

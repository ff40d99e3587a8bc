// SPDX-License-Identifier: Apache-2.0
// Three calls through two slots: started, requests, replies, stop and ended. A block looks at its
// stop word after 64 polls in vain, so an execution has hundreds of steps.
#include "model/models/channel_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

TEST(ChannelModelTest, oneSwitchOnHardware) {
    EXPECT_EQ(outcome<ChannelModel<Hardware<first_and_last_quad>>>(switching_at_most(1)),
              "SUCCESS");
}
TEST(ChannelModelTest, randomExecutionsOnHardware) {
    EXPECT_EQ(outcome<ChannelModel<Hardware<all_quads>>>(random_executions(30'000)), "SUCCESS");
}
TEST(ChannelModelTest, randomExecutionsOnTheEmulatedDevice) {
    EXPECT_EQ(outcome<ChannelModel<Emulated<all_quads>>>(random_executions(15'000)), "SUCCESS");
}

TEST(ChannelModelTest, oneSwitchOfTwoLines) {
    EXPECT_EQ((outcome<ChannelModel<Hardware<first_quad>, TwoLines>>(switching_at_most(1))),
              "SUCCESS");
}
TEST(ChannelModelTest, randomExecutionsOfTwoLines) {
    EXPECT_EQ((outcome<ChannelModel<Hardware<all_quads>, TwoLines>>(random_executions(10'000))),
              "SUCCESS");
}

}  // namespace
}  // namespace carillon::test

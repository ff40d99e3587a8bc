// SPDX-License-Identifier: Apache-2.0
// Clients that come and go leave nothing behind, and children that are forked get nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using CyclesTest = WithKernel<>;

TEST_F(CyclesTest, attachingAndLeavingAThousandTimesLeavesNothing) {
    auto const cycle = [&](unsigned i) {
        Connection const owner = connect();
        auto channel = owner.channel<Ask, Told>();
        EXPECT_EQ(channel.call({i}, patience).twice, 2 * i);
    };
    auto const settled = [&] { return eventually([&] { return server().clients().empty(); }); };
    for (unsigned i = 0; i < 50; ++i) cycle(i);
    ASSERT_TRUE(settled());
    Held const before = Held::now();
    for (unsigned i = 0; i < 1000; ++i) cycle(i);
    ASSERT_TRUE(settled());
    EXPECT_EQ(Held::now(), before);
}

TEST_F(CyclesTest, threadsOfOneConnectionAttachAtOnce) {
    Connection const owner = connect();
    std::vector<std::jthread> threads;
    std::atomic<unsigned> right = 0;
    for (unsigned i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            for (unsigned round = 0; round < 50; ++round) {
                auto channel = owner.channel<Ask, Told>();
                if (channel.call({round}, patience).twice == 2 * round) ++right;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(right, 100U);
}

TEST_F(CyclesTest, childThatIsForkedMayUseNothingAndTheParentGoesOn) {
    Connection const owner = connect();
    auto channel = owner.channel<Ask, Told>();
    EXPECT_EQ(channel.call({1}, patience).twice, 2U);
    EXPECT_EQ(in_child([&] {
                  return is_fork_error([&] { return channel.call({1}, patience); }) &&
                                 is_fork_error([&] { return owner.channel<Ask, Told>(); }) &&
                                 is_fork_error([&] { return owner.owner(); }) &&
                                 is_fork_error([&] { return server().clients(); })
                             ? 0
                             : 1;
              }),
              0);
    EXPECT_EQ(channel.call({2}, patience).twice, 4U);
    EXPECT_EQ(server().clients().size(), 1U);
}

}  // namespace
}  // namespace carillon::test

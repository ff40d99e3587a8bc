// SPDX-License-Identifier: Apache-2.0
#include "carillon/host_wait.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <stdexcept>

#include "support/eventually.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class HostWaitTest : public testing::TestWithParam<HostWait::Style> {
   protected:
    HostWait wait_{GetParam()};
};

std::string style_name(testing::TestParamInfo<HostWait::Style> const& info) {
    switch (info.param) {
        case HostWait::Style::spin:
            return "spin";
        case HostWait::Style::pause:
            return "pause";
        default:
            return "yield";
    }
}

INSTANTIATE_TEST_SUITE_P(By, HostWaitTest,
                         testing::Values(HostWait::Style::spin, HostWait::Style::pause,
                                         HostWait::Style::yield),
                         style_name);

TEST_P(HostWaitTest, whatIsThereAlreadyIsFoundWithNoTimeLeft) {
    EXPECT_TRUE(wait_.until([] { return true; }, 0ns));
    EXPECT_TRUE(wait_.until([] { return true; }, -1s));
}

TEST_P(HostWaitTest, givesUpWhenTheTimeHasPassed) {
    auto const start = std::chrono::steady_clock::now();
    EXPECT_FALSE(wait_.until([] { return false; }, 3ms));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);  // not early: a lower bound
    EXPECT_FALSE(wait_.until([] { return false; }, 0ns));
    EXPECT_FALSE(wait_.until([] { return false; }, -1ns));
}

TEST_P(HostWaitTest, pollsUntilItIsTrue) {
    int polls = 0;
    EXPECT_TRUE(wait_.until([&] { return ++polls == 5'000; }, patience));
    EXPECT_EQ(polls, 5'000);
}

// Catches a wait that never looks whether the kernel is still there.
TEST_P(HostWaitTest, asksMeanwhileWhetherToGoOn) {
    int asked = 0;
    EXPECT_TRUE(wait_.until([&] { return asked == 3; }, patience, [&] { ++asked; }));
    EXPECT_EQ(asked, 3);
}

TEST_P(HostWaitTest, whatIsThrownMeanwhileEndsTheWait) {
    EXPECT_THROW(
        (void)wait_.until([] { return false; }, patience, [] { throw std::logic_error("ended"); }),
        std::logic_error);
}

TEST(OversubscribedTest, threadsMayBeAsManyAsProcessors) {
    unsigned const processors = cpu::available_processors();
    EXPECT_FALSE(HostWait::oversubscribed(processors - 1));
    EXPECT_TRUE(HostWait::oversubscribed(processors));
}

// Catches a count of the machine's processors instead of those that this thread may use.
TEST(AvailableProcessorsTest, areThoseOfTheAffinityMask) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    EXPECT_EQ(cpu::available_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(cpu::available_processors(), 1U);
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace carillon::test

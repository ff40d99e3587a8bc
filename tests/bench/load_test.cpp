// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `carillon-bench load`: the latency of a message that is sent on a schedule.
#include "load/schedule.hpp"

#include <gtest/gtest.h>

namespace carillon::tool {
namespace {

// Time passes at every look, and replies come a fixed time after the request.
struct FakeMachine {
    std::int64_t now = 1'000'000;
    std::int64_t look = 10;
    std::int64_t reply_after = 100;
    std::uint64_t stalled_at = ~0ULL;  // this message's sending takes `stall`
    std::int64_t stall = 0;
    std::vector<std::int64_t> sent_at{};

    std::int64_t operator()() { return now += look; }
    bool try_send(std::uint64_t i) {
        if (i == stalled_at) now += stall;
        sent_at.push_back(now);
        return true;
    }
    bool try_take(std::uint64_t i) const { return now >= sent_at.at(i) + reply_after; }
    void idle() const {}
};

constexpr std::int64_t patience = 1'000'000'000;

LoadRun run(FakeMachine& machine, double per_second, std::uint64_t count, std::uint64_t window,
            std::vector<std::uint32_t>& latencies) {
    return run_schedule(
        Schedule(per_second), count, window, patience, machine, [&] { return machine(); },
        latencies);
}

TEST(LoadTest, messagesAreDueAtEqualDistances) {
    Schedule const schedule(3'000'000);
    EXPECT_EQ(schedule.due_ns(0), 0);
    EXPECT_EQ(schedule.due_ns(1), 333);
    EXPECT_EQ(schedule.due_ns(3), 1000);
    EXPECT_EQ(schedule.due_ns(3'000'000'000), 1'000'000'000'000) << "rounding does not add up";
}

TEST(LoadTest, noRateMeansAllAtOnce) { EXPECT_EQ(Schedule(0).due_ns(1'000'000), 0); }

TEST(LoadTest, nothingIsSentBeforeItIsDue) {
    FakeMachine machine;
    std::int64_t const start = machine.now;
    std::vector<std::uint32_t> latencies;
    (void)run(machine, 1'000'000, 50, 8, latencies);
    for (std::size_t i = 0; i < machine.sent_at.size(); ++i) {
        EXPECT_GE(machine.sent_at[i], start + static_cast<std::int64_t>(i) * 1000);
    }
}

TEST(LoadTest, anUnhurriedCallTakesAsLongAsItsReply) {
    FakeMachine machine;
    std::vector<std::uint32_t> latencies;
    LoadRun const result = run(machine, 1'000'000, 100, 8, latencies);
    ASSERT_EQ(latencies.size(), 100U);
    for (std::uint32_t each : latencies) {
        EXPECT_GE(each, 100U);
        EXPECT_LE(each, 100U + 4 * 10);
    }
    EXPECT_EQ(result.late, 0U);
    EXPECT_NEAR(result.per_second, 1e6, 0.02e6);
}

// The mistake that this would catch is coordinated omission: only the stalled call would be slow.
TEST(LoadTest, aStallIsSeenByEveryCallThatItDelays) {
    FakeMachine machine;
    machine.stalled_at = 10;
    machine.stall = 20'000;  // in which 20 more are due
    std::vector<std::uint32_t> latencies;
    LoadRun const result = run(machine, 1'000'000, 100, 64, latencies);
    EXPECT_LT(latencies[9], 200U);
    for (std::size_t i = 10; i < 28; ++i) {
        EXPECT_GE(latencies[i], 30'000U - 1000 * i) << i;
    }
    EXPECT_LT(latencies[60], 200U) << "the schedule was not shifted";
    EXPECT_GE(result.late, 15U);
}

TEST(LoadTest, noMoreAreUnderWayThanTheWindow) {
    FakeMachine machine;
    machine.reply_after = 10'000;
    std::vector<std::uint32_t> latencies;
    LoadRun const result = run(machine, 0, 40, 4, latencies);
    for (std::size_t i = 4; i < machine.sent_at.size(); ++i) {
        EXPECT_GE(machine.sent_at[i], machine.sent_at[i - 4] + machine.reply_after);
    }
    EXPECT_NEAR(result.per_second, 4 * 1e5, 1e4) << "four in ten microseconds";
}

TEST(LoadTest, repliesThatStopEndIt) {
    FakeMachine machine;
    machine.look = 1'000'000;
    machine.reply_after = 3 * patience;
    std::vector<std::uint32_t> latencies;
    EXPECT_THROW((void)run(machine, 1000, 10, 4, latencies), TimeoutError);
}

}  // namespace
}  // namespace carillon::tool

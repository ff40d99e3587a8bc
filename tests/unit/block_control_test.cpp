// SPDX-License-Identifier: Apache-2.0
// When a block of a persistent kernel ends. The clock stands still until the test moves it.
#include <gtest/gtest.h>

#include <carillon/detail/kernel/block_control.hpp>
#include <carillon/detail/kernel/lease_body.hpp>
#include <carillon/detail/kernel/serve.hpp>
#include <carillon/detail/kernel/watch.hpp>
#include <carillon/detail/machine/group.hpp>
#include <carillon/detail/protocol/lease.hpp>
#include <functional>
#include <vector>

#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

struct Time {
    std::uint64_t ns = 1'000'000'000'000;
    std::uint64_t ticks = 0;
    mutable std::vector<std::uint32_t> sleeps;
    std::function<void()> at_sleep = [] {};
};

class TestClock {
   public:
    explicit TestClock(Time const& time) : time_(&time) {}
    static void idle(std::uint32_t /*polls*/) {}
    void sleep(std::uint32_t ns) const {
        time_->sleeps.push_back(ns);
        time_->at_sleep();
    }
    [[nodiscard]] std::uint64_t now_ns() const { return time_->ns; }
    [[nodiscard]] std::uint64_t ticks() const { return time_->ticks; }
    [[nodiscard]] static std::uint32_t sm() { return 5; }

   private:
    Time const* time_;
};

class BlockControlTest : public testing::Test {
   protected:
    using Control = BasicBlockControl<DeviceNear, DeviceFar, TestClock>;

    Control start(std::uint64_t lifetime_ns, std::uint64_t silence_ns) {
        Control control(&control_, &status_, lifetime_ns, TestClock(time_));
        control.limit_silence(silence_ns);
        control.report_started();
        return control;
    }
    // Goes on in steps of 10 ns and returns whether the block wants to end by then.
    bool ends_within(Control& control, std::uint64_t ns) {
        for (std::uint64_t end = time_.ns + ns; time_.ns < end;) {
            time_.ns += 10;
            if (control.stop_now()) return true;
        }
        return false;
    }
    // Each sweep serves a request and takes `ticks`; the stop comes with the second one.
    unsigned sweeps_until_stopped(std::uint64_t ticks) {
        Control control = start(0, 0);
        unsigned sweeps = 0;
        detail::sweep_until_stopped(
            control, OneThread(),
            [&] {
                if (++sweeps == 2) control_.stop = 1;
                time_.ticks += ticks;
                return true;
            },
            [] {});
        return sweeps;
    }
    [[nodiscard]] EndReason reason(Control& control) const {
        control.report_ended();
        return static_cast<EndReason>(status_.ended);
    }

    Time time_;
    ControlLine control_{};
    StatusLine status_{};
};

TEST_F(BlockControlTest, startSaysWhere) {
    (void)start(0, 0);
    EXPECT_EQ(status_.started, 1U);
    EXPECT_EQ(status_.sm, 5U);
    EXPECT_EQ(status_.ended, 0U);
}

// Catches lanes that rest after different numbers of polls, since only the first lane has waited
// for the lease.
TEST_F(BlockControlTest, leaseBeginsAsIfNobodyHadWaited) {
    Control first = start(0, 0);
    first.rest_by({.polls = 100, .longest_sleep_ns = 1000});
    Control const another = first;
    for (int polls = 0; polls < 150; ++polls) (void)first.idle();
    ASSERT_NE(first.polls_before_rest(), another.polls_before_rest());
    LeaseLine line{};
    LeaseStatus status{};
    LeaseReader<DeviceNear, DeviceFar> const reader({&line, &status, {}}, 0);
    using Lease = LeaseControl<Control, LeaseReader<DeviceNear, DeviceFar>>;
    EXPECT_EQ(Lease(first, reader, 1).polls_before_rest(),
              Lease(another, reader, 1).polls_before_rest());
}

TEST_F(BlockControlTest, withoutLimitsABlockGoesOn) {
    Control control = start(0, 0);
    EXPECT_FALSE(ends_within(control, 100'000));
    control_.stop = 1;
    EXPECT_TRUE(control.stop_now());
    EXPECT_EQ(reason(control), EndReason::told);
}

TEST_F(BlockControlTest, lifetimeEndsIt) {
    Control control = start(1000, 0);
    EXPECT_FALSE(ends_within(control, 1000));
    EXPECT_TRUE(ends_within(control, 10));
    EXPECT_EQ(reason(control), EndReason::lifetime);
}

TEST_F(BlockControlTest, silenceOfTheHostEndsIt) {
    Control control = start(0, 1000);
    EXPECT_FALSE(ends_within(control, 1000));
    EXPECT_TRUE(ends_within(control, 10));
    EXPECT_EQ(reason(control), EndReason::host_silent);
}

// Any other value is a beat: the host's counter may wrap.
TEST_F(BlockControlTest, everyBeatOfTheHostPutsItOff) {
    Control control = start(0, 1000);
    for (std::uint64_t const beat : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0}}) {
        ASSERT_FALSE(ends_within(control, 400));
        control_.host_beat = beat;
        ASSERT_FALSE(ends_within(control, 500));
    }
    EXPECT_FALSE(ends_within(control, 500));
    EXPECT_TRUE(ends_within(control, 20));
}

TEST_F(BlockControlTest, blockBeatsOncePerMillisecond) {
    Control control = start(0, 0);
    EXPECT_FALSE(control.stop_now());
    std::uint64_t const before = status_.beat;
    time_.ns += 999'999;
    EXPECT_FALSE(control.stop_now());
    EXPECT_EQ(status_.beat, before);
    time_.ns += 1;
    EXPECT_FALSE(control.stop_now());
    EXPECT_NE(status_.beat, before);
}

// Catches a stop that waits for 64 slow requests.
TEST_F(BlockControlTest, longRequestIsFollowedByALook) {
    Control control = start(0, 0);
    ASSERT_FALSE(control.stop_now());
    control_.stop = 1;
    control.busy();
    EXPECT_FALSE(control.should_stop());
    time_.ticks += 2'000'000;
    control.busy();
    EXPECT_TRUE(control.should_stop());
}

// Nor where one block watches many channels.
TEST_F(BlockControlTest, requestsAreQuickThatComeSoonAfterEachOther) {
    Control control = start(0, 0);
    time_.ticks += 1'000'000;
    (void)control.busy();
    EXPECT_FALSE(control.was_quick());
    time_.ticks += 4000;
    (void)control.busy();
    EXPECT_TRUE(control.was_quick());
    time_.ticks += 5000;
    (void)control.busy();
    EXPECT_FALSE(control.was_quick());
}

TEST_F(BlockControlTest, sweepThatTookLongIsFollowedByALook) {
    EXPECT_EQ(sweeps_until_stopped(2'000'000), 2U);
    EXPECT_EQ(status_.ended, static_cast<std::uint64_t>(EndReason::told));
}

// Catches looks at every sweep: each costs as much.
TEST_F(BlockControlTest, sweepsAreManyBetweenLooks) { EXPECT_EQ(sweeps_until_stopped(1'000), 64U); }

// Nor for requests that are short but never end.
TEST_F(BlockControlTest, blockThatIsAlwaysBusyIsToLookOnceInAWhile) {
    Control control = start(0, 0);
    unsigned looks = 0;
    for (int request = 0; request < 100; ++request) {
        time_.ticks += 100'000;
        if (!control.busy()) continue;
        ++looks;
        EXPECT_FALSE(control.stop_now());
    }
    EXPECT_EQ(looks, 9U);  // every 1 100 000 ticks
}

TEST_F(BlockControlTest, spinningNeverSleeps) {
    Control control = start(0, 0);
    for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(control.idle());
    EXPECT_EQ(control.polls_before_rest(), 64U);
    EXPECT_FALSE(control.rest(64));
    EXPECT_TRUE(time_.sleeps.empty());
}

// Catches a sleep that grows without bound, one too early, and a policy that a request does not
// wake.
TEST_F(BlockControlTest, sleepsAreTwiceAsLongEachTimeUpToTheLimit) {
    Control control = start(0, 0);
    control.rest_by({.polls = 3, .longest_sleep_ns = 1000});
    using Sleeps = std::vector<std::uint32_t>;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i) control.idle();
        EXPECT_EQ(time_.sleeps, Sleeps());
        for (int i = 0; i < 6; ++i) control.idle();
        EXPECT_EQ(time_.sleeps, (Sleeps{100, 200, 400, 800, 1000, 1000}));
        control.busy();
        time_.sleeps.clear();
    }
}

// Catches a loop of many polls that puts a sleep off, or one that sleeps too early.
TEST_F(BlockControlTest, pollsInARowEndWhereASleepIsDue) {
    Control control = start(0, 0);
    control.rest_by({.polls = 100, .longest_sleep_ns = 1000});
    for (std::uint32_t const polls : {64U, 36U}) {
        EXPECT_EQ(control.polls_before_rest(), polls);
        EXPECT_FALSE(control.rest(polls));
    }
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(control.polls_before_rest(), 1U);
        EXPECT_TRUE(control.rest(1));
    }
    EXPECT_EQ(time_.sleeps, (std::vector<std::uint32_t>{100, 200}));
    control.busy();
    EXPECT_EQ(control.polls_before_rest(), 64U);
}

// A look at every 64th poll would be one in 6 ms.
TEST_F(BlockControlTest, blockThatSleepsLooksForAStopAtEveryPoll) {
    Control control = start(0, 0);
    control.rest_by({.polls = 0, .longest_sleep_ns = 100'000});
    control.idle();
    EXPECT_FALSE(control.should_stop());
    control_.stop = 1;
    control.idle();
    EXPECT_TRUE(control.should_stop());
}

// A block that has three requests and room for two replies. The host takes them at the second
// sleep, and tells the block to end at the third.
class ReplyRoomTest : public BlockControlTest {
   protected:
    using Served = DeviceChannel<int, int>;

    ReplyRoomTest() {
        time_.at_sleep = [this] {
            int reply = 0;
            if (time_.sleeps.size() >= 2) {
                while (taker_.try_pop(reply)) EXPECT_EQ(reply, -taken_++);
            }
            control_.stop = time_.sleeps.size() >= 3 ? 1 : 0;
        };
    }

    Control resting() {
        Control control = start(0, 0);
        control.rest_by({.polls = 3, .longest_sleep_ns = 1000});
        return control;
    }
    void ask(int count) {
        Producer<int, DeviceFar, DeviceNear> requests(requests_.view());
        for (int i = 0; i < count; ++i) EXPECT_TRUE(requests.try_push(i));
    }
    // Catches a wait for room that counts as idle time of the next wait.
    void expect_sleeps(int taken) const {
        EXPECT_EQ(time_.sleeps, (std::vector<std::uint32_t>{100, 200, 100}));
        EXPECT_EQ(taken_, taken);
    }
    struct Negative {
        int operator()(int value) const { return -value; }
    } handler_;
    RingMemory requests_{4};
    RingMemory replies_{2};

   private:
    Consumer<int, DeviceNear, DeviceFar> taker_{replies_.view()};
    int taken_ = 0;
};

// A wait for room comes before the look for the next request, which does not come here.
TEST_F(ReplyRoomTest, idleTimeBeginsAnewAfterIt) {
    ask(2);
    serve(Served(requests_.view(), replies_.view()), handler_, resting());
    expect_sleeps(2);
}

TEST_F(ReplyRoomTest, requestIsServedOnceThereIsRoom) {
    ask(3);
    serve(Served(requests_.view(), replies_.view()), handler_, resting());
    expect_sleeps(3);
}

TEST_F(ReplyRoomTest, idleTimeOfManyThreadsBeginsAnewAfterIt) {
    ask(3);
    Served const channel(requests_.view(), replies_.view());
    serve_together(false, channel, channel, handler_, resting(), OneThread());
    expect_sleeps(3);
}

}  // namespace
}  // namespace carillon::test

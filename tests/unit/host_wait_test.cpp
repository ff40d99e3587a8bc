// SPDX-License-Identifier: Apache-2.0
#include "carillon/wait.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "carillon/device_info.hpp"
#include "carillon/error.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/wait_styles.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class HostWaitTest : public testing::TestWithParam<HostWait::Style> {
   protected:
    void SetUp() override {
        if (!supported(GetParam())) GTEST_SKIP() << why_not(GetParam());
        wait_ = HostWait(GetParam());
    }

    HostWait wait_;
};
INSTANTIATE_TEST_SUITE_P(By, HostWaitTest, testing::ValuesIn(all_wait_styles), wait_style_name);

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

// Catches a reply that is given up although it is there: it came while the wait looked elsewhere.
TEST_P(HostWaitTest, whatComesBesideAnEndIsFound) {
    bool there = false;
    auto const come_and_end = [&] {
        there = true;
        throw std::logic_error("ended");
    };
    EXPECT_TRUE(wait_.until([&] { return there; }, patience, come_and_end));
}

// A process that was stopped and continued finds this: the time is over, and the reply is there.
TEST_P(HostWaitTest, whatComesAtTheLastMomentIsFound) {
    bool there = false;
    EXPECT_TRUE(wait_.until([&] { return there; }, 0ns, [&] { there = true; }));
}

TEST_P(HostWaitTest, whatAPollThrowsEndsTheWaitAndTheNextOneGoesOn) {
    int polls = 0;
    auto const poll = [&] {
        if (++polls % 100 == 0) throw std::logic_error("polled");
        return polls > 250;
    };
    EXPECT_THROW((void)wait_.until(poll, patience), std::logic_error);
    EXPECT_EQ(polls, 100);
    EXPECT_THROW((void)wait_.until(poll, patience), std::logic_error);
    EXPECT_TRUE(wait_.until(poll, patience));
    EXPECT_EQ(polls, 251);
}

// No store hits the line: catches a sleep that only a store ends.
TEST_P(HostWaitTest, aWriteThatIsMissedDelaysNothingForLong) {
    alignas(64) std::uint64_t line = 0;
    auto const watched = [&] { return &line; };
    EXPECT_FALSE(wait_.until([] { return false; }, watched, 3ms));
    int polls = 0;
    EXPECT_TRUE(wait_.until([&] { return ++polls == 1000; }, watched, patience));
    int asked = 0;
    EXPECT_TRUE(wait_.until([&] { return asked == 3; }, watched, patience, [&] { ++asked; }));
}

TEST_P(HostWaitTest, seesWhatAnotherThreadWrites) {
    alignas(64) std::atomic<int> turn = 0;
    auto const watched = [&] { return &turn; };
    std::thread other([&] {
        for (int i = 1; i < 40; i += 2) {
            ASSERT_TRUE(eventually([&] { return turn == i; }));
            turn = i + 1;
        }
    });
    for (int i = 0; i < 40; i += 2) {
        turn = i + 1;
        EXPECT_TRUE(wait_.until([&] { return turn == i + 2; }, watched, patience));
    }
    other.join();
}

// A CPU that records its orders; `W` says whether it has WAITPKG.
template <bool W>
class RecordingCpu {
   public:
    explicit RecordingCpu(std::string* record = nullptr) : record_(record) {}

    [[nodiscard]] static bool has_waitpkg() { return W; }
    void pause() const { *record_ += "pause "; }
    void yield() const { *record_ += "yield "; }
    void timed_pause() const { *record_ += "tpause "; }
    void monitor(void const* address) const {
        *record_ += "monitor" + std::to_string(*static_cast<int const*>(address)) + " ";
    }
    void monitored_wait() const { *record_ += "umwait "; }

   private:
    std::string* record_;
};

std::size_t occurrences(std::string const& text, std::string const& word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        ++count;
    }
    return count;
}

// Records a wait whose poll succeeds at the `polls`th time.
class RecordedWaitTest : public testing::Test {
   protected:
    using Wait = BasicHostWait<RecordingCpu<true>>;

    std::string waits(HostWait::Style style, int polls) {
        EXPECT_TRUE(wait(style).until(poll_until(polls), patience));
        return std::exchange(record_, {});
    }
    std::string waits_for_line(HostWait::Style style, int polls) {
        auto const watched = [&] { return &line_; };
        EXPECT_TRUE(wait(style).until(poll_until(polls), watched, patience));
        return std::exchange(record_, {});
    }
    [[nodiscard]] Wait wait(HostWait::Style style) {
        return Wait(style, RecordingCpu<true>(&record_));
    }

    std::string record_;
    int line_ = 0;

   private:
    std::function<bool()> poll_until(int polls) {
        return [this, left = polls]() mutable {
            record_ += "poll ";
            return --left == 0;
        };
    }
};

TEST_F(RecordedWaitTest, everyStyleSpendsItsPollsInItsOwnWay) {
    EXPECT_EQ(waits(HostWait::Style::spin, 3), "poll poll poll ");
    EXPECT_EQ(waits(HostWait::Style::pause, 3), "poll pause poll pause poll ");
    EXPECT_EQ(waits(HostWait::Style::yield, 3), "poll yield poll yield poll ");
    EXPECT_EQ(waits(HostWait::Style::tpause, 3), "poll tpause poll tpause poll ");
}

// Catches a wait that sleeps although the line came before the monitor was armed.
TEST_F(RecordedWaitTest, umwaitPollsBetweenTheMonitorAndTheSleep) {
    EXPECT_EQ(waits_for_line(HostWait::Style::umwait, 1), "poll ");
    EXPECT_EQ(waits_for_line(HostWait::Style::umwait, 2), "poll monitor0 poll ");
    EXPECT_EQ(waits_for_line(HostWait::Style::umwait, 3), "poll monitor0 poll umwait poll ");
}

TEST_F(RecordedWaitTest, umwaitOfAnUnknownLineIsATpause) {
    EXPECT_EQ(waits(HostWait::Style::umwait, 3), "poll tpause poll tpause poll ");
}

// A poll that takes another message than the awaited one moves on to the next line. Catches a
// sleep until the line is written that has been taken.
TEST_F(RecordedWaitTest, umwaitDoesNotSleepOnALineThatThePollHasLeft) {
    std::array<int, 3> lines{0, 1, 2};
    std::size_t at = 0;
    int polls = 0;
    auto const poll = [&] {
        record_ += "poll ";
        if (++polls == 2) at = 1;  // between monitor and sleep
        return polls == 5;
    };
    auto const watched = [&] { return &lines.at(at); };
    EXPECT_TRUE(wait(HostWait::Style::umwait).until(poll, watched, patience));
    EXPECT_EQ(record_, "poll monitor0 poll poll monitor1 poll umwait poll ");
}

// Catches a thread that keeps its processor from the one that it waits for.
TEST_F(RecordedWaitTest, everyStyleButSpinYieldsFromSomePollOn) {
    constexpr int polls = 4 * static_cast<int>(detail::cpu::polls_before_yield);
    for (HostWait::Style style : all_wait_styles) {
        for (bool const line_known : {false, true}) {
            std::string const record =
                line_known ? waits_for_line(style, polls) : waits(style, polls);
            std::size_t const first = record.find("yield");
            SCOPED_TRACE(to_string(style));
            if (style == HostWait::Style::spin) {
                EXPECT_EQ(first, std::string::npos);
                continue;
            }
            ASSERT_NE(first, std::string::npos);
            // From then on at every poll; those of umwait after the monitor are extra.
            std::string const rest = record.substr(first);
            EXPECT_GE(occurrences(rest, "yield") + occurrences(rest, "monitor"),
                      occurrences(rest, "poll"));
            EXPECT_LE(occurrences(record.substr(0, first), "poll"),
                      2 * detail::cpu::polls_before_yield + 1);
        }
    }
}

TEST(WaitStyleTest, everyStyleHasANameThatNamesIt) {
    EXPECT_EQ(to_string(HostWait::Style::umwait), "umwait");
    for (HostWait::Style style : all_wait_styles) EXPECT_EQ(wait_style(to_string(style)), style);
    for (char const* name : {"", "Spin", "spin ", "busy"}) EXPECT_FALSE(wait_style(name)) << name;
}

TEST(WaitStyleTest, styleThatTheCpuLacksIsRefusedByName) {
    using Wait = BasicHostWait<RecordingCpu<false>>;
    for (HostWait::Style style : {HostWait::Style::tpause, HostWait::Style::umwait}) {
        CARILLON_EXPECT_ERROR(Wait(style), UnsupportedError, "lacks WAITPKG");
        CARILLON_EXPECT_ERROR(Wait(style), UnsupportedError, std::string(to_string(style)));
        CARILLON_EXPECT_ERROR(Wait::for_kernel({.shares_processors = true}, 1, style),
                              UnsupportedError, "HostWait: ");
        EXPECT_NO_THROW(BasicHostWait<RecordingCpu<true>>{style});
        if (supported(style)) continue;
        EXPECT_THROW(HostWait{style}, UnsupportedError);
    }
    EXPECT_NO_THROW(Wait{HostWait::Style::pause});
}

TEST(WaitStyleTest, kernelsAreWaitedForAsTheirDeviceAsksUnlessTold) {
    unsigned const processors = detail::cpu::available_processors();
    DeviceTraits const gpu{.shares_processors = false};
    DeviceTraits const shared{.shares_processors = true};
    EXPECT_EQ(HostWait::for_kernel(gpu, 64).style(), HostWait::Style::spin);
    EXPECT_EQ(HostWait::for_kernel(shared, processors).style(), HostWait::Style::yield);
    EXPECT_EQ(HostWait::for_kernel(shared, processors - 1).style(), HostWait::Style::pause);
    EXPECT_EQ(HostWait::for_kernel(shared, processors, HostWait::Style::spin).style(),
              HostWait::Style::spin);
}

TEST(OversubscribedTest, threadsMayBeAsManyAsProcessors) {
    unsigned const processors = detail::cpu::available_processors();
    EXPECT_FALSE(HostWait::oversubscribed(processors - 1));
    EXPECT_TRUE(HostWait::oversubscribed(processors));
}

// Catches a count of the machine's processors instead of those that this thread may use.
TEST(AvailableProcessorsTest, areThoseOfTheAffinityMask) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    EXPECT_EQ(detail::cpu::available_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(detail::cpu::available_processors(), 1U);
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace carillon::test

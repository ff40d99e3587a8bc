// SPDX-License-Identifier: Apache-2.0
// `carillon-bench soak`: how its check judges wrong replies, and small runs.
#include "soak/soak.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <ctime>

#include <carillon/error.hpp>
#include <chrono>
#include <cmath>
#include <future>
#include <initializer_list>
#include <thread>

#include "support/eventually.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t channel = 3;
constexpr std::uint32_t window = 16;

SoakReply<1> reply_to(std::uint64_t number, std::uint64_t count) {
    return make_soak_reply(make_soak_request<1>(channel, number), count);
}

// A channel on which `sent` requests were sent.
class SoakCheckTest : public testing::Test {
   protected:
    void send(unsigned count) {
        for (unsigned i = 0; i < count; ++i) check.sent();
        sent += count;
    }
    // Replies to the requests from the next one on, by a handler that has counted every request.
    void reply(std::initializer_list<std::uint64_t> numbers) {
        for (std::uint64_t const number : numbers) check.replied(++asked, reply_to(number, number));
    }
    // Gives the right reply to every request that is still open.
    void reply_to_the_rest() {
        while (asked < sent) reply({asked + 1});
    }
    [[nodiscard]] SoakCounts expected() const {
        SoakCounts counts;
        counts.commands = sent;
        return counts;
    }

    SoakCheck<1> check{channel, window};
    std::uint64_t sent = 0;
    std::uint64_t asked = 0;  // the request to which the next reply is given
};

TEST_F(SoakCheckTest, everyReplyInItsTurnIsWell) {
    for (unsigned round = 0; round < 10; ++round) {
        send(window);
        reply_to_the_rest();
    }
    EXPECT_EQ(check.finish(), expected());
    EXPECT_TRUE(check.finish().nothing_lost());
}

TEST_F(SoakCheckTest, noTwoRequestsAreAlike) {
    EXPECT_EQ(check.next().number, 1U);
    EXPECT_EQ(check.next().channel, channel);
    SoakRequest<1> const first = check.next();
    send(1);
    EXPECT_EQ(check.next().number, 2U);
    for (unsigned i = 0; i < 4; ++i) EXPECT_NE(check.next().word[i], first.word[i]);
    EXPECT_NE(make_soak_request<1>(channel + 1, 1).word[0], first.word[0]);
}

TEST_F(SoakCheckTest, aRequestWithoutReplyIsLost) {
    send(5);
    reply({1, 2, 4, 5});  // a stream with a gap: each reply is taken for the request before
    SoakCounts counts = expected();
    counts.lost = 1;
    EXPECT_EQ(check.finish(), counts);
    EXPECT_FALSE(counts.nothing_lost());
}

TEST_F(SoakCheckTest, aRequestThatTheHandlerNeverSawIsLostOnce) {
    send(5);
    for (std::uint64_t const number : {1U, 2U}) check.replied(++asked, reply_to(number, number));
    for (std::uint64_t const number : {4U, 5U})
        check.replied(++asked, reply_to(number, number - 1));
    SoakCounts counts = expected();
    counts.lost = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, theLastRequestsCanBeLostToo) {
    send(5);
    reply({1, 2});
    SoakCounts counts = expected();
    counts.lost = 3;
    EXPECT_EQ(check.finish(), counts);
}

// The mistake that this would catch is a loss that is forgotten when its slot is used again.
TEST_F(SoakCheckTest, aLossIsRememberedAfterTheWindowHasPassed) {
    send(window);
    check.replied(++asked, reply_to(1, 1));
    ++asked;  // nothing for 2
    for (unsigned round = 0; round < 5; ++round) {
        reply_to_the_rest();
        send(window);
    }
    reply_to_the_rest();
    SoakCounts counts = expected();
    counts.lost = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, aSecondReplyIsDuplicated) {
    send(4);
    reply({1, 2, 2, 3, 4});
    SoakCounts counts = expected();
    counts.duplicated = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, aReplyFromBeforeTheWindowIsDuplicated) {
    send(window);
    reply_to_the_rest();
    send(window);
    reply({1});
    EXPECT_EQ(check.finish().duplicated, 1U);
}

TEST_F(SoakCheckTest, aRequestThatWasServedTwiceShowsInTheCount) {
    send(6);
    reply({1, 2});
    for (std::uint64_t number = 3; number <= 6; ++number) {
        check.replied(number, reply_to(number, number + 1));
    }
    SoakCounts counts = expected();
    counts.duplicated = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, aHandlerThatForgotItsStateShowsInTheCount) {
    send(4);
    reply({1, 2});
    for (std::uint64_t number = 3; number <= 4; ++number) {
        check.replied(number, reply_to(number, number - 2));
    }
    SoakCounts counts = expected();
    counts.reordered = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, aReplyThatOvertookAnotherIsReordered) {
    send(5);
    reply({1, 3, 2, 4, 5});
    SoakCounts counts = expected();
    counts.reordered = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, aRequestThatOvertookAnotherIsReorderedOnce) {
    send(4);
    std::uint64_t count = 0;
    for (std::uint64_t const number : {1U, 3U, 2U, 4U}) {
        check.replied(++asked, reply_to(number, ++count));
    }
    SoakCounts counts = expected();
    counts.reordered = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, everyFieldOfAReplyIsLookedAt) {
    constexpr unsigned fields = 6;
    send(window);
    for (unsigned field = 0; field < fields; ++field) {
        SoakReply<1> reply = reply_to(field + 1, field + 1);
        if (field == 0) reply.number ^= 8U;  // of another request that was sent
        if (field == 1) reply.count ^= 1U;
        if (field >= 2) reply.hash[field - 2] ^= std::uint64_t{1} << 63U;
        check.replied(++asked, reply);
    }
    reply_to_the_rest();
    SoakCounts counts = expected();
    counts.corrupted = fields;
    EXPECT_EQ(check.finish(), counts);
}

// Catches a check of the first line alone.
TEST(SoakLinesTest, everyWordOfALargeReplyIsLookedAt) {
    constexpr unsigned words = soak_words<16>;
    SoakCheck<16> check(channel, 128);
    for (unsigned i = 0; i < words; ++i) {
        SoakReply<16> reply = make_soak_reply(check.next(), i + 1);
        check.sent();
        reply.hash[i] ^= 1U;
        check.replied(i + 1, reply);
    }
    EXPECT_EQ(check.finish().corrupted, words);
}

TEST_F(SoakCheckTest, aReplyOfAnotherChannelIsCorrupted) {
    send(1);
    check.replied(1, make_soak_reply(make_soak_request<1>(channel + 1, 1), 1));
    EXPECT_EQ(check.finish().corrupted, 1U);
}

TEST_F(SoakCheckTest, aReplyToARequestThatWasNeverSentIsCorrupted) {
    send(2);
    check.replied(1, reply_to(3, 3));
    check.replied(2, reply_to(0, 2));
    EXPECT_EQ(check.finish().corrupted, 2U);
}

TEST_F(SoakCheckTest, anAbandonedRequestIsNotLostButItsReplyIsOneTooMany) {
    send(4);
    check.abandon(2);
    check.replied(1, reply_to(1, 1));
    check.replied(3, reply_to(3, 3));
    SoakCounts counts = expected();
    counts.abandoned = 1;
    check.replied(4, reply_to(4, 4));
    EXPECT_EQ(check.finish(), counts);
    check.replied(4, reply_to(2, 2));
    counts.duplicated = 1;
    EXPECT_EQ(check.finish(), counts);
}

TEST_F(SoakCheckTest, anAbandonedRequestIsCountedByTheHandler) {
    send(3);
    check.abandon(2);
    check.replied(1, reply_to(1, 1));
    check.replied(3, reply_to(3, 2));  // 2 was never served
    EXPECT_EQ(check.finish().reordered, 1U);
}

TEST(SoakMemoryTest, isFlatWhereNothingGrewButAMebibyte) {
    SoakUsage const usage{50 << 20, 10, 3};
    EXPECT_TRUE((SoakMemory{usage, usage}.flat()));
    EXPECT_TRUE((SoakMemory{usage, {51 << 20, 9, 2}}.flat()));
    EXPECT_FALSE((SoakMemory{usage, {(51 << 20) + 4096, 10, 3}}.flat()));
    EXPECT_FALSE((SoakMemory{usage, {50 << 20, 11, 3}}.flat()));
    EXPECT_FALSE((SoakMemory{usage, {50 << 20, 10, 4}}.flat()));
    EXPECT_FALSE((SoakMemory{{}, usage}.flat())) << "nothing was read";
}

TEST(SoakMemoryTest, whatTheProcessHoldsIsRead) {
    SoakUsage const usage = read_soak_usage();
    EXPECT_GT(usage.resident_bytes, 1U << 20U);
    EXPECT_GE(usage.descriptors, 1U);
    EXPECT_GE(usage.threads, 1U);
}

// The clock of the calling thread's time on a processor.
::clockid_t processor_clock() {
    ::clockid_t clock{};
    EXPECT_EQ(::pthread_getcpuclockid(::pthread_self(), &clock), 0);
    return clock;
}
std::chrono::nanoseconds read_clock(::clockid_t clock) {
    ::timespec time{};
    EXPECT_EQ(::clock_gettime(clock, &time), 0);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(SoakMemoryTest, threadThatEndsIsWaitedForAndOneThatStaysIsCounted) {
    std::uint64_t const before = read_soak_usage(1).threads;
    std::promise<void> end;
    std::thread([ended = end.get_future(), reader = processor_clock()] {
        ended.wait();
        // Ends when the reader has been at work, and so has counted this thread.
        auto const begin = read_clock(reader);
        EXPECT_TRUE(test::eventually([&] { return read_clock(reader) > begin + 1ms; }));
    }).detach();
    EXPECT_EQ(read_soak_usage(before).threads, before + 1);
    end.set_value();
    EXPECT_EQ(read_soak_usage(before).threads, before);
}

SoakResult soak(SoakOptions const& options, double& last_share) {
    return run_soak(Device::open("emulated"), options, [&](double share) {
        EXPECT_GE(share, last_share);
        last_share = share;
    });
}

TEST(SoakTest, everyRequestIsAnsweredAndCounted) {
    SoakOptions options;
    options.seconds = 0.3;
    options.abandon_every = 100;
    options.channels = 2;
    options.capacity = 16;
    double share = 0;
    SoakResult const result = soak(options, share);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(share, 1);
    EXPECT_TRUE(result.counts.nothing_lost()) << soak_text(result);
    EXPECT_GT(result.counts.commands, 0U);
    EXPECT_LE(result.counts.abandoned, result.counts.commands / 100);
    EXPECT_GE(result.counts.abandoned + 2, result.counts.commands / 100);
    EXPECT_GT(result.highest_per_second, 0);
    EXPECT_GT(result.achieved_per_second, 0);
    EXPECT_EQ(result.memory.end.threads, result.memory.warm.threads);
    EXPECT_EQ(result.memory.end.descriptors, result.memory.warm.descriptors);
}

// Starts as many blocks as it takes for replies to leave as bulk copies on a GPU.
TEST(SoakTest, messagesOfSeveralLinesAreAnsweredByManyBlocks) {
    for (unsigned const lines : {1U, 2U, 16U}) {
        SoakOptions options;
        options.seconds = 0.2;
        options.abandon_every = 50;
        options.channels = 6;
        options.capacity = 16;
        options.lines = lines;
        double share = 0;
        SoakResult const result = soak(options, share);
        EXPECT_EQ(result.failure, "");
        EXPECT_EQ(result.lines, lines);
        EXPECT_TRUE(result.counts.nothing_lost()) << soak_text(result);
        EXPECT_GT(result.counts.commands, 0U);
    }
}

TEST(SoakTest, cyclesAreCounted) {
    double share = 0;
    CyclesResult const result =
        run_cycles(Device::open("emulated"), 5, [&](double now) { share = now; });
    EXPECT_EQ(result.cycles, 5U);
    EXPECT_EQ(result.failures, 0U) << result.first_failure;
    EXPECT_EQ(share, 1);
    EXPECT_GT(result.per_second, 0);
    EXPECT_LE(result.memory.end.threads, result.memory.warm.threads);
    EXPECT_LE(result.memory.end.descriptors, result.memory.warm.descriptors);
}

TEST(SoakTest, whatMakesNoSenseIsRefused) {
    Device const device = Device::open("emulated");
    SoakOptions options;
    options.seconds = 0;
    EXPECT_THROW((void)run_soak(device, options, [](double) {}), UsageError);
    options.seconds = 0.1;
    options.abandon_every = 0;
    EXPECT_THROW((void)run_soak(device, options, [](double) {}), UsageError);
    options.abandon_every = 1;
    options.lines = 3;
    EXPECT_THROW((void)run_soak(device, options, [](double) {}), UsageError);
    EXPECT_THROW((void)run_cycles(device, 0, [](double) {}), UsageError);
}

TEST(SoakTest, aRateThatAnInterruptCutOffIsNoFigure) {
    SoakResult result;
    result.highest_per_second = std::nan("");
    result.achieved_per_second = 5;
    nlohmann::json const json = to_json(result);
    EXPECT_FALSE(json.contains("highest_per_second"));
    EXPECT_EQ(json["achieved_per_second"], 5);
    EXPECT_NE(soak_text(result).find("% of - requests/s: 5 requests/s"), std::string::npos);
}

TEST(SoakTest, aResultThatIsNotSoundIsAnError) {
    SoakUsage const usage{50 << 20, 10, 3};
    SoakResult result;
    result.memory = {usage, usage};
    EXPECT_NO_THROW(require_sound(result));
    result.counts.corrupted = 1;
    EXPECT_THROW(require_sound(result), Error);
    result.counts.corrupted = 0;
    result.memory.end.threads = 4;
    EXPECT_THROW(require_sound(result), Error);
    CyclesResult cycles;
    cycles.memory = {usage, usage};
    EXPECT_NO_THROW(require_sound(cycles));
    cycles.failures = 1;
    EXPECT_THROW(require_sound(cycles), Error);
}

}  // namespace
}  // namespace carillon::tool

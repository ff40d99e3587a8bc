// SPDX-License-Identifier: Apache-2.0
// The protocol's accesses in their order, and accesses that it must not make.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "carillon/detail/access/host_near_far.hpp"
#include "support/recording.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Entries = std::vector<std::string>;

constexpr char const* look = "near.load_word credit";

class RingOrderTest : public testing::Test {
   protected:
    RingMemory memory_{16, 17};
    AccessLog log_{memory_.view()};
    Producer<Whole, RecordingFar, RecordingNear> producer_{memory_.view(), RecordingFar(&log_),
                                                           RecordingNear(&log_)};
    Consumer<Whole, RecordingNear, RecordingFar> consumer_{memory_.view(), RecordingNear(&log_),
                                                           RecordingFar(&log_)};
    Whole message_{};

    void push(int count) {
        for (int i = 0; i < count; ++i) ASSERT_TRUE(producer_.try_push(Whole::make(1)));
        (void)log_.take();
    }
};

// Catches a missing commit (a line that stays in a write-combining buffer for 1 ms) and a release
// that is not needed.
TEST_F(RingOrderTest, publishIsOneLineAndOneCommit) {
    ASSERT_TRUE(producer_.try_push(Whole::make(1)));
    EXPECT_EQ(log_.take(),
              (Entries{"far.store_line slot 0", "  over tag 1 tag 17", "far.commit 64 slot 0"}));
}

// Catches a commit for each of several rings, or a look at the credit that comes ahead of the line.
TEST_F(RingOrderTest, uncommittedPushIsOneLineAndNoCommit) {
    ASSERT_TRUE(producer_.try_push_uncommitted(Whole::make(1), OutOfLine::written));
    EXPECT_EQ(log_.take(),
              (Entries{"far.release", "far.store_line slot 0", "  over tag 1 tag 17"}));
    for (int i = 0; i != 2; ++i) ASSERT_TRUE(producer_.try_push_uncommitted(Whole::make(1)));
    EXPECT_EQ(log_.take().back(), look);
    EXPECT_EQ(producer_.next(), 20U);
    while (producer_.try_push_uncommitted(Whole::make(1))) {
    }
    EXPECT_EQ(producer_.next(), 33U);
}

// Catches a commit, which is a store fence, for each line; and one that covers too little.
TEST_F(RingOrderTest, batchIsAllItsLinesAndOneCommitAlsoOverTheWrap) {
    std::array<Whole, 12> messages{};
    std::size_t const count = messages.size();
    ASSERT_EQ(producer_.try_push_n(messages.data(), count), count);
    Entries all = log_.take();
    EXPECT_EQ(all.size(), 2 * count + 1);
    EXPECT_EQ(all.back(), "far.commit 768 slot 0");

    memory_.credit() = 16 + count;
    ASSERT_EQ(producer_.try_push_n(messages.data(), count, OutOfLine::written), count);
    all = log_.take();
    ASSERT_EQ(all.size(), 2 * count + 3);
    EXPECT_EQ(all.at(0), look);
    EXPECT_EQ(all.at(1), "far.release");
    EXPECT_EQ(all.at(2), "far.store_line slot 12");
    EXPECT_EQ(all.at(10), "far.store_line slot 0");
    for (Entries::size_type i = 2; i != all.size() - 1; i += 2) {
        EXPECT_TRUE(all.at(i).starts_with("far.store_line ")) << all.at(i);
    }
    EXPECT_EQ(all.back(), "far.commit 1024 slot 0");  // the whole ring
}

struct CountingCpu : X86 {
    inline static int fences = 0;
    static void store_fence() {
        ++fences;
        X86::store_fence();
    }
};

// Counts store fences: two steps need one more before the tags of each part.
TEST(RingFencesTest, batchHasOneStoreFenceAndInTwoStepsOneMoreForEachPart) {
    using Far = BasicHostMapped<CountingCpu>;
    for (PublishMode const mode : {PublishMode::one_step, PublishMode::two_step}) {
        int const steps = mode == PublishMode::one_step ? 1 : 2;
        RingMemory memory(16);
        Producer<Whole, Far, HostCached> producer(memory.view(), Far({StoreKind::sse2, mode}));
        std::array<Whole, 12> messages{};
        CountingCpu::fences = 0;
        ASSERT_EQ(producer.try_push_n(messages.data(), messages.size()), messages.size());
        EXPECT_EQ(CountingCpu::fences, steps);
        memory.credit() = messages.size();
        ASSERT_EQ(producer.try_push_n(messages.data(), messages.size()), messages.size());
        EXPECT_EQ(CountingCpu::fences, steps + (steps == 1 ? 1 : 3));
    }
}

// Catches a release after the line, or after its commit.
TEST_F(RingOrderTest, outOfLineDataAreReleasedBeforeTheLine) {
    ASSERT_TRUE(producer_.try_push(Whole::make(1), OutOfLine::written));
    EXPECT_EQ(log_.take(), (Entries{"far.release", "far.store_line slot 0", "  over tag 1 tag 17",
                                    "far.commit 64 slot 0"}));
}

// Catches a look at the credit at every publish, or ahead of a line, which would delay the line.
TEST_F(RingOrderTest, creditIsLookedAtFourTimesALapAtMostAndAfterThePublish) {
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(producer_.try_push(Whole::make(1)));
    Entries const all = log_.take();
    EXPECT_LE(std::count(all.begin(), all.end(), look), 4);
    EXPECT_EQ(std::count(all.begin(), all.end(), "near.load_line slot 0"), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all.at(i) != look) continue;
        ASSERT_GT(i, 0U);
        EXPECT_TRUE(all.at(i - 1).starts_with("far.commit 64 ")) << all.at(i - 1);
    }
}

TEST_F(RingOrderTest, fullRingIsOneLookAtTheCreditAndNothingElse) {
    push(16);
    EXPECT_FALSE(producer_.try_push(Whole::make(1), OutOfLine::written));
    EXPECT_EQ(log_.take(), Entries{look});
}

// Catches a producer that does not trust a credit it has seen, or trusts it too far.
TEST_F(RingOrderTest, creditThatIsKnownIsUsedWithoutALook) {
    push(16);
    memory_.credit() = 18;  // lines 17 and 18
    ASSERT_TRUE(producer_.try_push(Whole::make(1)));
    EXPECT_EQ(log_.take(), (Entries{look, "far.store_line slot 0", "  over tag 17 tag 33",
                                    "far.commit 64 slot 0"}));
    ASSERT_TRUE(producer_.try_push(Whole::make(1)));
    EXPECT_EQ(log_.take(),
              (Entries{"far.store_line slot 1", "  over tag 18 tag 34", "far.commit 64 slot 1"}));
    EXPECT_FALSE(producer_.try_push(Whole::make(1)));
}

// Catches a credit that leaves before the lines it covers were loaded (C2), or that lingers.
TEST_F(RingOrderTest, creditLeavesAfterTheLinesWereLoadedAndIsCommittedAtOnce) {
    push(5);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(consumer_.try_pop(message_));
    Entries const all = log_.take();
    auto const credit = std::find(all.begin(), all.end(), "far.store_word credit");
    ASSERT_NE(credit, all.end());
    EXPECT_EQ(std::count(all.begin(), all.end(), "far.store_word credit"), 1);
    EXPECT_EQ(std::count(all.begin(), credit, "near.load_line slot 3"), 1);
    ASSERT_NE(credit + 1, all.end());
    EXPECT_EQ(*(credit + 1), "far.commit 8 credit");
    EXPECT_EQ(memory_.credit(), 20U);  // lines 17 to 20
    EXPECT_EQ(all.size(), 5U + 2U);
}

// Catches an empty poll that writes across the bus each time.
TEST_F(RingOrderTest, emptyPollIsOneLoad) {
    EXPECT_FALSE(consumer_.try_pop(message_));
    EXPECT_FALSE(consumer_.try_pop(message_));
    EXPECT_EQ(log_.take(), (Entries{"near.load_line slot 0", "near.load_line slot 0"}));
}

// Catches a look too many, and one after the message has come.
TEST_F(RingOrderTest, polledPopLooksAsOftenAsItIsToldAndAtLeastOnce) {
    EXPECT_FALSE(consumer_.try_pop(message_, 3));
    EXPECT_EQ(log_.take(), Entries(3, "near.load_line slot 0"));
    EXPECT_FALSE(consumer_.try_pop(message_, 0));
    EXPECT_EQ(log_.take(), Entries(1, "near.load_line slot 0"));
    push(1);
    ASSERT_TRUE(consumer_.try_pop(message_, 3));
    EXPECT_EQ(message_, Whole::make(1));
    EXPECT_EQ(log_.take(), Entries(1, "near.load_line slot 0"));
}

TEST_F(RingOrderTest, heldCreditIsReturnedOnceByManyEmptyPolls) {
    push(1);
    ASSERT_TRUE(consumer_.try_pop(message_));
    EXPECT_EQ(log_.take(), Entries{"near.load_line slot 0"});
    constexpr std::uint32_t misses = decltype(consumer_)::misses_before_return;
    for (std::uint32_t i = 1; i < misses; ++i) EXPECT_FALSE(consumer_.try_pop(message_));
    EXPECT_EQ(log_.take(), Entries(misses - 1, "near.load_line slot 1"));
    EXPECT_FALSE(consumer_.try_pop(message_));
    EXPECT_EQ(log_.take(),
              (Entries{"near.load_line slot 1", "far.store_word credit", "far.commit 8 credit"}));
    for (std::uint32_t i = 0; i < 2 * misses; ++i) EXPECT_FALSE(consumer_.try_pop(message_));
    EXPECT_EQ(log_.take(), Entries(2 * misses, "near.load_line slot 1"));
}

// Catches a consumer that clears slots: its own memory is written by the producer only.
TEST_F(RingOrderTest, consumerLeavesTheSlotAsItIs) {
    push(1);
    ASSERT_TRUE(consumer_.try_pop(message_));
    EXPECT_EQ(unpack<Whole>(memory_.slot(0)), Whole::make(1));
    EXPECT_TRUE(has_arrived(memory_.slot(0), 17));
}

}  // namespace
}  // namespace carillon::test

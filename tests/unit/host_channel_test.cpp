// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of a channel; the tests step the device's end.
#include "carillon/detail/host/host_channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "carillon/detail/protocol/endpoints.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

constexpr std::uint32_t capacity = 4;

// Memory that is flushed, or fails to be.
class FlakySync final : public RangeSync {
   public:
    void flush(void const* /*where*/, std::size_t /*size*/) const override {
        if (fails) throw std::runtime_error("no flush");
    }
    void invalidate(void const* /*where*/, std::size_t /*size*/) const override {}
    bool fails = false;
};

// A kernel of which the test is told when a client looks whether it may send.
class WatchedKernel {
   public:
    explicit WatchedKernel(std::function<void()> const& look) : look_(&look) {}
    void require_open() const {
        if (*look_) (*look_)();
    }
    static void warm() {}

   private:
    std::function<void()> const* look_;
};

class HostChannelTest : public testing::Test {
   protected:
    using Ends = HostChannel<int, int, HostCached, HostMapped, WatchedKernel>;

    // Answers all that has been asked.
    void answer() {
        int request = 0;
        while (device_.requests.try_pop(request)) ASSERT_TRUE(device_.replies.try_push(-request));
    }
    std::optional<int> take(Sequence number) {
        ends_.require_valid(number);
        Packed<int> reply;
        if (!ends_.try_take(number, reply)) return {};
        return unpack<int>(reply);
    }
    bool valid(Sequence number) {
        try {
            ends_.require_valid(number);
        } catch (UsageError const&) {
            return false;
        }
        return true;
    }

    FlakySync sync_;
    std::function<void()> look_;
    RingMemory requests_{capacity};
    RingMemory replies_{capacity};
    Ends ends_{requests_.view(),
               replies_.view(),
               HostCached(),
               HostMapped({StoreKind::cached, PublishMode::one_step}, &sync_),
               nullptr,
               nullptr,
               ServedBy::one_block,
               WatchedKernel(look_)};
    DeviceChannel<int, int> device_{requests_.view(), replies_.view()};
};

TEST_F(HostChannelTest, requestIsOutstandingFromItsSubmitToItsTake) {
    for (int i = 1; i <= 20; ++i) {
        auto const number = static_cast<Sequence>(i);
        EXPECT_FALSE(valid(number));
        EXPECT_EQ(ends_.try_submit(i, OutOfLine::none), number);
        EXPECT_TRUE(valid(number));
        EXPECT_FALSE(valid(number + capacity));
        EXPECT_FALSE(ends_.all_answered());
        answer();
        EXPECT_TRUE(ends_.all_answered());
        EXPECT_EQ(take(number), -i);
        EXPECT_FALSE(valid(number));
    }
}

// Catches a channel that counts on room whose credit it has not returned. It looks for room once
// for many requests, so the rows have all lengths, at all places of the ring.
TEST_F(HostChannelTest, everyReplyHasRoomThoughNobodyLooks) {
    Sequence taken = 0;
    for (unsigned const count : {4U, 1U, 4U, 3U, 4U, 2U, 4U, 3U, 3U, 4U}) {
        for (unsigned i = 0; i != count; ++i) EXPECT_TRUE(ends_.try_submit(1, OutOfLine::none));
        answer();  // asserts that each reply has room
        for (unsigned i = 0; i != count; ++i) EXPECT_EQ(take(++taken), -1);
    }
    EXPECT_TRUE(ends_.all_answered());
}

TEST_F(HostChannelTest, replyThatCameBeforeAnotherKeepsItsPlace) {
    EXPECT_EQ(ends_.try_submit_n(std::array{1, 2, 3, 4}.data(), 4, OutOfLine::none), 4U);
    answer();
    EXPECT_EQ(take(3), -3);
    EXPECT_FALSE(valid(3));
    EXPECT_TRUE(valid(1) && valid(2) && valid(4));
    EXPECT_FALSE(ends_.try_submit(5, OutOfLine::none).has_value());
    EXPECT_EQ(take(1), -1);
    EXPECT_EQ(ends_.try_submit(5, OutOfLine::none), 5U);
    EXPECT_FALSE(ends_.try_submit(6, OutOfLine::none).has_value()) << "2 has its place";
    ends_.abandon(2);
    EXPECT_EQ(ends_.try_submit(6, OutOfLine::none), 6U);
    answer();
    EXPECT_EQ(take(4), -4);
    EXPECT_EQ(take(6), -6);
    EXPECT_EQ(take(5), -5);
}

TEST_F(HostChannelTest, replyThatWasGivenUpLeavesItsPlaceWhenItComes) {
    for (int i = 1; i <= 4; ++i) EXPECT_TRUE(ends_.try_submit(i, OutOfLine::none));
    for (Sequence number = 1; number <= 4; ++number) {
        ends_.abandon(number);
        EXPECT_FALSE(valid(number));
    }
    EXPECT_FALSE(ends_.try_submit(5, OutOfLine::none));
    answer();
    std::optional<Sequence> number;
    for (int look = 0; look < 5 && !number; ++look) number = ends_.try_submit(5, OutOfLine::none);
    EXPECT_EQ(number, 5U);
    answer();
    EXPECT_EQ(take(5), -5);
}

// Catches a row that overwrites a reply which is kept.
TEST_F(HostChannelTest, rowEndsBeforeAPlaceThatIsTaken) {
    std::array<int, 4> const row{1, 2, 3, 4};
    EXPECT_EQ(ends_.try_submit_n(row.data(), 4, OutOfLine::none), 4U);
    answer();
    EXPECT_EQ(take(4), -4);
    EXPECT_EQ(take(1), -1);
    EXPECT_EQ(take(2), -2);
    EXPECT_EQ(ends_.try_submit_n(row.data(), 4, OutOfLine::none), 2U) << "3 has its place";
    EXPECT_EQ(ends_.next(), 7U);
    EXPECT_EQ(take(3), -3);
    EXPECT_EQ(ends_.try_submit_n(row.data(), 4, OutOfLine::none), 2U);
}

// Catches a place that is never free again, and requests that count as unanswered for ever.
TEST_F(HostChannelTest, requestsWhoseFlushThrewCountAsSentAndHaveNoReplies) {
    std::array<int, 3> const row{1, 2, 3};
    sync_.fails = true;
    EXPECT_THROW((void)ends_.try_submit(7, OutOfLine::none), std::runtime_error);
    EXPECT_EQ(ends_.next(), 2U);
    EXPECT_FALSE(valid(1));
    EXPECT_THROW((void)ends_.try_submit_n(row.data(), 3, OutOfLine::none), std::runtime_error);
    EXPECT_EQ(ends_.next(), 5U);
    for (Sequence number = 1; number < 5; ++number) EXPECT_FALSE(valid(number));
    EXPECT_FALSE(ends_.all_answered());
    sync_.fails = false;
    answer();
    EXPECT_TRUE(ends_.all_answered());
    std::size_t sent = 0;
    for (int look = 0; look < 5 && sent == 0; ++look) {
        sent = ends_.try_submit_n(row.data(), 3, OutOfLine::none);
    }
    EXPECT_NE(sent, 0U);
    answer();
    EXPECT_EQ(take(5), -1);
}

// Catches a request that a drain does not hear of, and one that it waits for in vain.
TEST_F(HostChannelTest, requestIsAnnouncedBeforeTheLookWhetherItMaySend) {
    std::array<int, 3> const row{1, 2, 3};
    bool open = true;
    look_ = [&] {
        EXPECT_FALSE(ends_.all_answered());
        if (!open) throw std::runtime_error("closed");
    };
    EXPECT_EQ(ends_.try_submit(1, OutOfLine::none), 1U);
    answer();
    EXPECT_EQ(ends_.try_submit_n(row.data(), 2, OutOfLine::none), 2U);
    answer();
    EXPECT_TRUE(ends_.all_answered());
    open = false;
    EXPECT_THROW((void)ends_.try_submit(7, OutOfLine::none), std::runtime_error);
    EXPECT_THROW((void)ends_.try_submit_n(row.data(), 3, OutOfLine::none), std::runtime_error);
    EXPECT_EQ(ends_.next(), 4U);
    EXPECT_TRUE(ends_.all_answered());
    open = true;
    EXPECT_EQ(ends_.try_submit_n(row.data(), 3, OutOfLine::none), 1U) << "four slots";
    answer();
    EXPECT_TRUE(ends_.all_answered());
    look_ = nullptr;  // a client without room announces nothing
    EXPECT_FALSE(ends_.try_submit(5, OutOfLine::none));
    EXPECT_TRUE(ends_.all_answered());
}

TEST_F(HostChannelTest, warmingUpChangesNothing) {
    EXPECT_EQ(ends_.try_submit(1, OutOfLine::none), 1U);
    answer();
    for (int i = 0; i < 10; ++i) ends_.warm();
    EXPECT_EQ(requests_.credit(), 0U + 1U);
    EXPECT_EQ(replies_.credit(), 0U);
    EXPECT_TRUE(valid(1));
    EXPECT_EQ(ends_.next(), 2U);
    EXPECT_EQ(take(1), -1);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Late replies. The gate, not the clock, decides which replies are late.
#include "device/gated_kernel.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class ChannelTimeoutTest : public GatedKernelTest {
   protected:
    void expect_works() {
        for (std::uint64_t i = 100; i < 120; ++i) {
            EXPECT_EQ(channel().call({i, 0}, patience).value, 3 * i + 1);
        }
    }
};
CARILLON_ON_EVERY_DEVICE(ChannelTimeoutTest);

// Catches the worst that can happen: a late reply that is taken for the next call's.
TEST_P(ChannelTimeoutTest, lateReplyIsNeverTakenForAnotherCalls) {
    EXPECT_THROW((void)channel().call({1, 1}, 1ms), TimeoutError);
    gate().open(1);
    expect_works();
}

TEST_P(ChannelTimeoutTest, lateRepliesOfEverySlotAreDropped) {
    for (int i = 0; i < 4; ++i) {
        EXPECT_THROW((void)channel().call({1, 1}, 1ms), TimeoutError) << i;
    }
    EXPECT_FALSE(channel().try_submit({1, 1}).has_value());
    EXPECT_THROW((void)channel().call({1, 1}, 1ms), TimeoutError);  // finds no slot
    gate().open(1);
    expect_works();
    // The fifth was never sent.
    EXPECT_EQ(channel().call({1, 0}, patience).served, 4U + 20U + 1U);
}

TEST_P(ChannelTimeoutTest, lateAndTimelyRepliesMayAlternate) {
    for (std::uint64_t round = 1; round <= 20; ++round) {
        EXPECT_THROW((void)channel().call({round, round}, 0ns), TimeoutError);
        gate().open(round);
        CountedReply const reply = channel().call({1000 + round, 0}, patience);
        EXPECT_EQ(reply.value, 3 * (1000 + round) + 1);
        EXPECT_EQ(reply.served, 2 * round);
    }
}

TEST_P(ChannelTimeoutTest, ticketIsStillGoodAfterATimeout) {
    Ticket const ticket = channel().submit({7, 1}, patience);
    EXPECT_THROW((void)channel().wait(ticket, 1ms), TimeoutError);
    EXPECT_THROW((void)channel().wait(ticket, 0ns), TimeoutError);
    gate().open(1);
    EXPECT_EQ(channel().wait(ticket, patience).value, 22U);
    expect_works();
}

TEST_P(ChannelTimeoutTest, submitFindsNoRoomWhileEveryReplyIsOutstanding) {
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 4; ++i) {
        tickets.push_back(channel().submit({i, 1}, patience));
    }
    EXPECT_FALSE(channel().try_submit({9, 0}).has_value());
    EXPECT_THROW((void)channel().submit({9, 0}, 1ms), TimeoutError);
    gate().open(1);
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(channel().wait(tickets.at(i), patience).value, 3 * i + 1);
    }
    expect_works();
}

// Catches a slot that is given out again while its reply is held for its ticket.
TEST_P(ChannelTimeoutTest, replyThatHasArrivedHoldsItsSlotUntilItIsTaken) {
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 4; ++i) tickets.push_back(channel().submit({i, 0}, patience));
    EXPECT_EQ(channel().wait(tickets.at(3), patience).value, 10U);  // 0 to 2 have arrived too
    EXPECT_FALSE(channel().try_submit({9, 0}).has_value());         // its slot is that of 0
    EXPECT_EQ(channel().wait(tickets.at(0), 0ns).value, 1U);
    Ticket const next = channel().submit({9, 0}, patience);
    EXPECT_EQ(channel().wait(tickets.at(1), 0ns).value, 4U);
    EXPECT_EQ(channel().wait(next, patience).value, 28U);
    EXPECT_EQ(channel().wait(tickets.at(2), 0ns).value, 7U);
    expect_works();
}

TEST_P(ChannelTimeoutTest, abandoningAReplyThatHasArrivedFreesItsSlot) {
    Ticket const first = channel().submit({1, 0}, patience);
    Ticket const second = channel().submit({2, 0}, patience);
    EXPECT_EQ(channel().wait(second, patience).value, 7U);
    channel().abandon(first);
    EXPECT_THROW((void)channel().try_take(first), UsageError);
    expect_works();
}

// Catches a stop that waits for a handler without a bound.
TEST_P(ChannelTimeoutTest, stopGivesUpOnAHandlerThatDoesNotReturnAndMayBeAskedAgain) {
    Memory const word = device().allocate_host(64);
    PersistentKernel<GatedHandler> stuck(
        device(), {},
        GatedHandler{gate().device_view(), static_cast<std::uint64_t*>(word.device_ptr())});
    (void)stuck.channel().submit({1, 1}, patience);
    ASSERT_TRUE(eventually(
        [&] { return HostCached().load_word(static_cast<std::uint64_t*>(word.host_ptr())) == 1; }));
    CARILLON_EXPECT_ERROR(stuck.stop(1ms), TimeoutError, "PersistentKernel::stop: ");
    EXPECT_TRUE(stuck.running());
    EXPECT_THROW((void)stuck.channel().call({1, 0}, patience), StoppedError);
    gate().open(1);
    stuck.stop(patience);
    EXPECT_FALSE(stuck.running());
}

}  // namespace
}  // namespace carillon::test

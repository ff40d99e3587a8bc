// SPDX-License-Identifier: Apache-2.0
// Requests and replies in time; channel_timeout_test.cpp has those that are late.
#include "device/gated_kernel.hpp"

namespace carillon::test {
using namespace detail;

// A kernel of the user's own at the other end of a channel.
struct ServeSomeBody {
    DeviceChannel<Message, Message> channel;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint32_t i = 0; i < count; ++i) {
            Message message{};
            if (!pop_patiently(channel.requests, message)) return;
            Message const reply = Message::make(message.whole() ? message.number + 1 : 0);
            if (!push_patiently(channel.replies, reply)) return;
        }
    }
};

namespace {

class ChannelTest : public GatedKernelTest {};
CARILLON_ON_EVERY_DEVICE(ChannelTest);
CARILLON_ON_HOST_MEMORY(ChannelTest);

TEST_P(ChannelTest, callReturnsTheReplyToItsRequest) {
    for (std::uint64_t i = 0; i < 100; ++i) {
        CountedReply const reply = channel().call({i, 0}, patience);
        EXPECT_EQ(reply.value, 3 * i + 1);
        EXPECT_EQ(reply.served, i + 1);
    }
}

TEST_P(ChannelTest, repliesAreWaitedForInAnyOrder) {
    for (std::uint64_t round = 0; round < 10; ++round) {
        std::vector<Ticket> tickets;
        for (std::uint64_t i = 0; i < 4; ++i) {
            tickets.push_back(channel().submit({10 * round + i, 0}, patience));
        }
        for (std::uint64_t i : {3U, 0U, 2U, 1U}) {
            EXPECT_EQ(channel().wait(tickets.at(i), patience).value, 3 * (10 * round + i) + 1);
        }
    }
}

TEST_P(ChannelTest, tryTakeReturnsAtOnceAndFindsTheReplyOnceItIsThere) {
    Ticket const first = channel().submit({1, 1}, patience);
    Ticket const second = channel().submit({2, 1}, patience);
    EXPECT_FALSE(channel().try_take(first).has_value());
    EXPECT_FALSE(channel().try_take(second).has_value());
    gate().open(1);
    std::optional<CountedReply> reply;
    ASSERT_TRUE(eventually([&] { return (reply = channel().try_take(second)).has_value(); }));
    EXPECT_EQ(reply->value, 7U);
    EXPECT_EQ(channel().wait(first, 0ns).value, 4U);  // it came before the second
}

TEST_P(ChannelTest, callIsAnsweredWhileEarlierTicketsAreHeld) {
    Ticket const held = channel().submit({5, 0}, patience);
    for (std::uint64_t i = 0; i < 2; ++i) {
        EXPECT_EQ(channel().call({i, 0}, patience).value, 3 * i + 1);
    }
    EXPECT_EQ(channel().wait(held, patience).value, 16U);
}

TEST_P(ChannelTest, ticketsAreNumberedInOrder) {
    Ticket const first = channel().submit({1, 0}, patience);
    Ticket const second = channel().submit({1, 0}, patience);
    EXPECT_EQ(first.number(), 1U);
    EXPECT_EQ(second.number(), 2U);
    EXPECT_FALSE(first == second);
}

TEST_P(ChannelTest, ticketIsGoodForOneReply) {
    Ticket const ticket = channel().submit({1, 0}, patience);
    EXPECT_EQ(channel().wait(ticket, patience).value, 4U);
    EXPECT_THROW((void)channel().wait(ticket, patience), UsageError);
    EXPECT_THROW((void)channel().try_take(ticket), UsageError);
    EXPECT_THROW(channel().abandon(ticket), UsageError);
    EXPECT_EQ(channel().call({2, 0}, patience).value, 7U);
}

// Catches a look-up by slot alone: 5, 9, ... share a slot with 1.
TEST_P(ChannelTest, ticketThatTheChannelDidNotGiveIsAUsageError) {
    Ticket const ticket = channel().submit({1, 0}, patience);
    for (Sequence number : {0ULL, 2ULL, 5ULL, 9ULL, (1ULL << 32) + 1}) {
        Ticket const foreign(ticket.issuer(), number);
        EXPECT_THROW((void)channel().wait(foreign, patience), UsageError) << number;
        EXPECT_THROW((void)channel().try_take(foreign), UsageError) << number;
        EXPECT_THROW(channel().abandon(foreign), UsageError) << number;
    }
    EXPECT_EQ(channel().wait(ticket, patience).value, 4U);
}

TEST_P(ChannelTest, abandonedTicketIsGone) {
    Ticket const ticket = channel().submit({1, 0}, patience);
    channel().abandon(ticket);
    EXPECT_THROW((void)channel().wait(ticket, patience), UsageError);
    EXPECT_EQ(channel().call({2, 0}, patience).value, 7U);
}

class OwnKernelChannelTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(OwnKernelChannelTest);

TEST_P(OwnKernelChannelTest, kernelOfTheUsersOwnServesAChannel) {
    Channel<Message, Message> channel(device(), 8);
    EXPECT_EQ(channel.capacity(), 8U);
    auto const kernel = launch(device(), 1, ServeSomeBody{channel.device_handle(), 100});
    for (std::uint64_t i = 1; i <= 100; ++i) {
        Message const reply = channel.call(Message::make(i), patience);
        ASSERT_TRUE(reply.whole());
        ASSERT_EQ(reply.number, i + 1);
    }
    EXPECT_TRUE(kernel.wait(patience));
}

}  // namespace
}  // namespace carillon::test

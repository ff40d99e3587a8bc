// SPDX-License-Identifier: Apache-2.0
// Requests in a row: many sent with one fence, their replies taken together.
#include <array>
#include <span>
#include <thread>
#include <vector>

#include "device/gated_kernel.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
namespace {

using Replies = std::array<CountedReply, 8>;

std::vector<GatedRequest> row(std::uint64_t first, std::size_t count, std::uint64_t gate = 0) {
    std::vector<GatedRequest> requests;
    for (std::size_t i = 0; i < count; ++i) requests.push_back({first + i, gate});
    return requests;
}

class RowTest : public GatedKernelTest {
   protected:
    // Expects that the first replies are those to the requests from `first` on.
    static void expect_replies(Replies const& replies, std::uint64_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(replies.at(i).value, 3 * (first + i) + 1) << i;
        }
    }
    Tickets submitted(std::uint64_t first, std::size_t count, std::uint64_t gate = 0) {
        Tickets tickets;
        channel().submit_n(row(first, count, gate), tickets, patience);
        EXPECT_EQ(tickets.size(), count);
        return tickets;
    }
    // A reply may come ahead of the credit of its request: then there is no room yet.
    Tickets sent_when_there_is_room(std::vector<GatedRequest> const& requests) {
        Tickets sent;
        EXPECT_TRUE(eventually([&] {
            sent = channel().try_submit_n(requests);
            return !sent.empty();
        }));
        return sent;
    }
};
CARILLON_ON_EVERY_DEVICE(RowTest);
CARILLON_ON_HOST_MEMORY(RowTest);

// Three of four slots: every row but the first begins anew at the first slot.
TEST_P(RowTest, rowIsAnsweredInItsOrder) {
    Replies replies{};
    for (std::uint64_t round = 0; round < 50; ++round) {
        Tickets tickets = submitted(10 * round, 3);
        channel().take_n(tickets, replies, patience);
        EXPECT_TRUE(tickets.empty());
        expect_replies(replies, 10 * round, 3);
        EXPECT_EQ(replies[2].served, 3 * round + 3);
    }
}

TEST_P(RowTest, asManyAreSentAsThereIsRoomFor) {
    Replies replies{};
    Tickets tickets = channel().try_submit_n(row(1, 6, 1));
    EXPECT_EQ(tickets.size(), 4U);
    EXPECT_TRUE(channel().try_submit_n(row(7, 2)).empty());
    EXPECT_EQ(channel().try_take_n(tickets, replies), 0U);
    gate().open(1);
    channel().take_n(tickets, replies, patience);
    expect_replies(replies, 1, 4);
    std::size_t sent = 0;  // the credits come one after the other
    EXPECT_TRUE(
        eventually([&] { return (sent += channel().try_submit_n(row(7, 2 - sent)).size()) == 2; }));
}

// Catches replies that no caller can take any more.
TEST_P(RowTest, rowThatFindsNoRoomInTimeSaysWhatWasSent) {
    Tickets tickets;
    CARILLON_EXPECT_ERROR(channel().submit_n(row(1, 6, 1), tickets, 1ms), TimeoutError,
                          "Client::submit_n: 4 of 6 requests were sent before the timeout");
    EXPECT_EQ(tickets.size(), 4U);
    Tickets none;
    CARILLON_EXPECT_ERROR(channel().submit_n(row(7, 2), none, 0ns), TimeoutError, "0 of 2");
    EXPECT_TRUE(none.empty());
    gate().open(1);
    Replies replies{};
    channel().take_n(tickets, replies, patience);
    expect_replies(replies, 1, 4);
    EXPECT_EQ(channel().call({9, 0}, patience).served, 5U);
}

TEST_P(RowTest, rowThatAStopEndsSaysWhatWasSent) {
    PersistentKernel<GatedHandler> kernel(device(), {.capacity = 4},
                                          GatedHandler{gate().device_view()});
    Tickets tickets;
    std::jthread const stops([&] {
        EXPECT_TRUE(eventually([&] { return !kernel.channel().all_answered(); }));
        try {
            kernel.stop(1ms);
        } catch (TimeoutError const&) {  // a handler waits for the gate
        }
    });
    CARILLON_EXPECT_ERROR(kernel.channel().submit_n(row(1, 6, 1), tickets, patience), StoppedError,
                          "was stopped");
    EXPECT_EQ(tickets.size(), 4U);
    gate().open(1);
}

TEST_P(RowTest, repliesThatDoNotComeInTimeAreStillToCome) {
    std::array<GatedRequest, 3> const requests{{{5, 0}, {6, 1}, {7, 1}}};
    Tickets tickets;
    channel().submit_n(requests, tickets, patience);
    Replies replies{};
    ASSERT_TRUE(eventually([&] { return channel().try_take_n(tickets, replies) == 1; }));
    EXPECT_EQ(tickets.size(), 2U);
    CARILLON_EXPECT_ERROR(channel().take_n(tickets, replies, 1ms), TimeoutError,
                          "Client::take_n: 0 of 2 replies were taken");
    EXPECT_EQ(tickets.size(), 2U);
    gate().open(1);
    channel().take_n(tickets, replies, patience);
    expect_replies(replies, 6, 2);
}

TEST_P(RowTest, fewerRepliesThanThereAreTicketsAreTakenInParts) {
    Tickets tickets = submitted(1, 4);
    Replies replies{};
    std::size_t taken = 0;
    ASSERT_TRUE(eventually([&] {
        std::size_t const now = channel().try_take_n(
            tickets, std::span(replies).subspan(taken, std::min<std::size_t>(1, 4 - taken)));
        EXPECT_LE(now, 1U);
        taken += now;
        return tickets.empty();
    }));
    expect_replies(replies, 1, 4);
    EXPECT_EQ(channel().try_take_n(tickets, replies), 0U);
}

TEST_P(RowTest, rowsAndSingleCallsMix) {
    Replies replies{};
    for (std::uint64_t i = 0; i < 20; ++i) {
        Ticket const before = channel().submit({100 + i, 0}, patience);
        Tickets tickets = submitted(i, 2);
        EXPECT_EQ(channel().call({200 + i, 0}, patience).value, 3 * (200 + i) + 1);
        channel().take_n(tickets, replies, patience);
        expect_replies(replies, i, 2);
        EXPECT_EQ(channel().wait(before, patience).value, 3 * (100 + i) + 1);
    }
}

TEST_P(RowTest, someOfARowAreTakenOutOfOrder) {
    Replies replies{};
    for (std::uint64_t i = 0; i < 20; ++i) {
        Tickets tickets = submitted(i, 4);
        // A reply is taken from the ring behind those before it, so all of them are there.
        EXPECT_EQ(channel().wait(tickets[3], patience).value, 3 * (i + 3) + 1);
        // The places of the first three are theirs until they are taken.
        EXPECT_TRUE(channel().try_submit_n(row(9, 4)).empty());
        auto const first = channel().try_take(tickets[0]);
        ASSERT_TRUE(first.has_value());
        EXPECT_EQ(first->value, 3 * i + 1);
        Tickets next = sent_when_there_is_room(row(50, 4));
        EXPECT_EQ(next.size(), 1U);
        tickets = tickets.after(1);
        CARILLON_EXPECT_ERROR(channel().try_take_n(tickets, replies), UsageError, "no reply");
        EXPECT_EQ(tickets.size(), 1U);  // the two before it are taken
        expect_replies(replies, i + 1, 2);
        channel().take_n(next, replies, patience);
        expect_replies(replies, 50, 1);
    }
}

// Catches a place that is given to a request while a reply that was given up is still to come.
TEST_P(RowTest, someOfARowAreGivenUp) {
    Replies replies{};
    for (std::uint64_t round = 1; round <= 20; ++round) {
        Tickets tickets = submitted(round, 4, round);
        channel().abandon(tickets[1]);
        channel().abandon(tickets[3]);
        EXPECT_TRUE(channel().try_submit_n(row(9, 4)).empty());
        gate().open(round);
        CARILLON_EXPECT_ERROR(channel().take_n(tickets, replies, patience), UsageError,
                              "Client::take_n: no reply is outstanding");
        EXPECT_EQ(tickets.size(), 3U);
        expect_replies(replies, round, 1);
        EXPECT_EQ(channel().wait(tickets[1], patience).value, 3 * (round + 2) + 1);
        Tickets next = submitted(40, 3);
        channel().take_n(next, replies, patience);
        expect_replies(replies, 40, 3);
        EXPECT_EQ(replies[2].served, 7 * round);
    }
}

TEST_P(RowTest, ticketsThatAreNotThisChannelsAreAUsageError) {
    PersistentKernel<GatedHandler> other(device());
    Tickets theirs;
    other.channel().submit_n(row(1, 2), theirs, patience);
    Replies replies{};
    CARILLON_EXPECT_ERROR(channel().try_take_n(theirs, replies), UsageError, "another client");
    CARILLON_EXPECT_ERROR(channel().take_n(theirs, replies, 0ns), UsageError, "another client");
    EXPECT_EQ(theirs.size(), 2U);
    other.channel().take_n(theirs, replies, patience);
    expect_replies(replies, 1, 2);
    Tickets taken(submitted(1, 1)[0].issuer(), 1, 2);  // the second was never sent
    CARILLON_EXPECT_ERROR(channel().take_n(taken, replies, patience), UsageError, "no reply");
    EXPECT_EQ(taken.size(), 1U);
}

TEST_P(RowTest, whatCannotBeIsAUsageError) {
    std::span<GatedRequest const> const nowhere(static_cast<GatedRequest const*>(nullptr), 2);
    Tickets tickets;
    CARILLON_EXPECT_ERROR(channel().try_submit_n(nowhere), UsageError,
                          "Client::try_submit_n: the messages are a null pointer");
    CARILLON_EXPECT_ERROR(channel().submit_n(nowhere, tickets, 0ns), UsageError, "null pointer");
    tickets = submitted(1, 3);
    std::span<CountedReply> const no_replies(static_cast<CountedReply*>(nullptr), 3);
    CARILLON_EXPECT_ERROR(channel().try_take_n(tickets, no_replies), UsageError, "null pointer");
    CARILLON_EXPECT_ERROR(channel().take_n(tickets, no_replies, 0ns), UsageError, "null pointer");
    Replies replies{};
    CARILLON_EXPECT_ERROR(channel().take_n(tickets, std::span(replies).first(2), patience),
                          UsageError, "the caller gave room for 2 replies, but 3 are due");
    channel().take_n(tickets, replies, patience);
    expect_replies(replies, 1, 3);
}

TEST_P(RowTest, rowOfNoneIsSentAndTakenAtOnce) {
    Tickets tickets;
    channel().submit_n({}, tickets, 0ns);
    EXPECT_TRUE(tickets.empty());
    EXPECT_TRUE(channel().try_submit_n({}).empty());
    EXPECT_EQ(channel().try_take_n(tickets, {}), 0U);
    channel().take_n(tickets, {}, 0ns);
}

TEST_P(RowTest, rowsGoThroughTheWrapOfTheTags) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, 8, just_below_the_tags_wrap);
    PersistentKernel<GatedHandler> kernel(device(), {.memory = memory}, GatedHandler{});
    Replies replies{};
    for (std::uint64_t round = 0; round < 4; ++round) {
        Tickets tickets;
        kernel.channel().submit_n(row(round, 7), tickets, patience);
        kernel.channel().take_n(tickets, replies, patience);
        expect_replies(replies, round, 7);
    }
}

TEST(TicketsTest, rangeOfTicketsIsCutFromTheFront) {
    Tickets tickets(7, 100, 3);
    EXPECT_EQ(tickets[2], Ticket(7, 102));
    CARILLON_EXPECT_ERROR(tickets[3], UsageError,
                          "Tickets::operator[]: the index is beyond the last ticket");
    EXPECT_EQ(tickets.after(1), Tickets(7, 101, 2));
    EXPECT_TRUE(tickets.after(3).empty());
    EXPECT_TRUE(tickets.after(9).empty());
    tickets.append(Tickets(7, 103, 2));
    EXPECT_EQ(tickets, Tickets(7, 100, 5));
    Tickets none;
    none.append(tickets);
    EXPECT_EQ(none, tickets);
}

}  // namespace
}  // namespace carillon::test

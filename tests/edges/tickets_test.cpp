// SPDX-License-Identifier: Apache-2.0
// Tickets that are used twice, or at the wrong place.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {
namespace {

class TicketTest : public KernelTest {
   protected:
    // Expects that `taker`, a channel or a client, refuses `ticket` in every call.
    template <class Taker, class AnyTicket>
    static void expect_refused(Taker& taker, AnyTicket ticket, char const* why) {
        CARILLON_EXPECT_ERROR(taker.wait(ticket, patience), UsageError, why);
        CARILLON_EXPECT_ERROR(taker.try_take(ticket), UsageError, why);
        CARILLON_EXPECT_ERROR(taker.abandon(ticket), UsageError, why);
    }
};
CARILLON_ON_EVERY_DEVICE(TicketTest);

// Catches a look-up by number: the first request of every channel has the same.
TEST_P(TicketTest, ticketOfAnotherChannelIsAUsageError) {
    PersistentKernel<GatedHandler> kernel(device(), {.blocks = 2}, GatedHandler{});
    auto& one = kernel.channel(0);
    auto& other = kernel.channel(1);
    Ticket const ones = one.submit({1, 0}, patience);
    Ticket const others = other.submit({2, 0}, patience);
    EXPECT_EQ(ones.number(), others.number());
    EXPECT_FALSE(ones == others);
    expect_refused(one, others, "the ticket belongs to another client");
    expect_refused(other, ones, "the ticket belongs to another client");
    EXPECT_EQ(one.wait(ones, patience).value, 4U);
    EXPECT_EQ(other.wait(others, patience).value, 7U);
}

// The second kernel has the first one's memory, and so its numbers.
TEST_P(TicketTest, ticketOfAKernelThatHasEndedIsNotTheNextOnes) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, 8);
    std::optional<Ticket> old;
    {
        PersistentKernel<GatedHandler> kernel(device(), {.memory = memory}, GatedHandler{});
        old = kernel.channel().submit({1, 0}, patience);
    }
    PersistentKernel<GatedHandler> kernel(device(), {.memory = memory}, GatedHandler{});
    (void)kernel.channel().submit({2, 0}, patience);
    expect_refused(kernel.channel(), *old, "the ticket belongs to another client");
}

TEST_P(TicketTest, ticketsOfOtherRequestsAreNotAppended) {
    PersistentKernel<GatedHandler> kernel(device(), {.blocks = 2}, GatedHandler{});
    std::array<GatedRequest, 2> const requests{{{1, 0}, {2, 0}}};
    Tickets first = kernel.channel(0).try_submit_n(requests);
    Ticket const between = kernel.channel(0).submit({3, 0}, patience);
    Tickets const later = kernel.channel(0).try_submit_n(requests);
    Tickets const others = kernel.channel(1).try_submit_n(requests);
    for (Tickets const& wrong : {later, others, first}) {
        CARILLON_EXPECT_ERROR(first.append(wrong), UsageError, "right after these");
    }
    first.append(Tickets());
    EXPECT_EQ(first.size(), 2U);
    EXPECT_EQ(kernel.channel(0).wait(between, patience).value, 10U);
    for (Tickets const& each : {first, later}) {
        for (std::size_t i = 0; i < each.size(); ++i) {
            EXPECT_EQ(kernel.channel(0).wait(each[i], patience).value, 3 * requests[i].value + 1);
        }
    }
}

// A second one would have the requests of the first, and so would another client's end.
TEST_P(TicketTest, memoryOfChannelsServesOneKernelAtATime) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, ChannelShape{8});
    std::optional<PersistentKernel<GatedHandler>> kernel(
        std::in_place, device(), KernelOptions{.memory = memory}, GatedHandler{});
    char const* const why = "a PersistentKernel uses the ChannelMemory";
    auto const second = [&] {
        PersistentKernel<GatedHandler> const one(device(), {.memory = memory}, GatedHandler{});
    };
    auto const client = [&] {
        Channel<GatedRequest, CountedReply> const one(device(), memory, 0, HostWait());
    };
    CARILLON_EXPECT_ERROR(second(), UsageError, why);
    CARILLON_EXPECT_ERROR(client(), UsageError, why);
    CARILLON_EXPECT_ERROR(memory->reset(), UsageError, why);
    CARILLON_EXPECT_ERROR(memory->reset(100), UsageError, why);
    CARILLON_EXPECT_ERROR(memory->arrange({}), UsageError, why);
    CARILLON_EXPECT_ERROR((void)kernel->channel().device_handle(), UsageError,
                          "a block of the PersistentKernel has this end");
    EXPECT_EQ(kernel->channel().call({1, 0}, patience).value, 4U);
    kernel->stop(patience);
    CARILLON_EXPECT_ERROR(second(), UsageError, why);
    kernel.reset();
    EXPECT_NO_THROW(second());
    EXPECT_NO_THROW(client());
    kernel.emplace(device(), KernelOptions{.memory = memory}, GatedHandler{});
    Ticket const first = kernel->channel().submit({2, 0}, patience);
    EXPECT_EQ(first.number(), 1U);  // no reset(100) was half done
    EXPECT_EQ(kernel->channel().wait(first, patience).value, 7U);
}

TEST_P(TicketTest, ticketOfAnotherClientIsAUsageError) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 2}}, GatedHandler{});
    auto one = kernel.client();
    auto other = kernel.client();
    Ticket const ones = one.submit({1, 0}, patience);
    Ticket const others = other.submit({2, 0}, patience);
    EXPECT_FALSE(ones == others);
    expect_refused(one, others, "the ticket belongs to another client");
    EXPECT_EQ(one.wait(ones, patience).value, 4U);
    EXPECT_EQ(other.wait(others, patience).value, 7U);
}

// Catches a ticket that is known by its place: an abandoned request leaves its place to another.
TEST_P(TicketTest, ticketThatWasGivenUpIsNotTheNextRequests) {
    Gate gate(device());
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 2, .replies = 2}},
                                                GatedHandler{gate.device_view()});
    auto client = kernel.client();
    Ticket const given_up = client.submit({1, 1}, patience);
    client.abandon(given_up);
    Ticket const next = client.submit({2, 1}, patience);
    EXPECT_FALSE(given_up == next);
    gate.open(1);
    expect_refused(client, given_up, "no reply is outstanding");
    EXPECT_EQ(client.wait(next, patience).value, 7U);
    expect_refused(client, next, "no reply is outstanding");
}

// The one that has it is named, though all other places are free.
TEST_P(TicketTest, replyThatNobodyTookIsWhyTheNextRequestIsNotSent) {
    PersistentKernel<GatedHandler> kernel(device(), {.capacity = 4}, GatedHandler{});
    auto& channel = kernel.channel();
    Ticket const first = channel.submit({1, 0}, patience);
    for (int i = 0; i < 3; ++i) (void)channel.call({2, 0}, patience);
    auto const why = "the next slot still holds the reply to request 1";
    CARILLON_EXPECT_ERROR(channel.call({2, 0}, 1ms), TimeoutError, why);
    Tickets sent;
    std::array<GatedRequest, 2> const two{};
    CARILLON_EXPECT_ERROR(channel.submit_n(two, sent, 1ms), TimeoutError, why);
    EXPECT_EQ(channel.wait(first, patience).value, 4U);
    EXPECT_EQ(channel.call({2, 0}, patience).value, 7U);
}

TEST_P(TicketTest, ticketsGoWithAClientThatIsMoved) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 2}}, GatedHandler{});
    auto client = kernel.client();
    Ticket const ticket = client.submit({1, 0}, patience);
    auto moved = std::move(client);
    EXPECT_EQ(moved.wait(ticket, patience).value, 4U);
}

}  // namespace
}  // namespace carillon::test

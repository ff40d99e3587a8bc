// SPDX-License-Identifier: Apache-2.0
// A kernel whose blocks share one ring.
#include "carillon/pooled_kernel.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {

// The reply to number n is number ~n; to one that came damaged it is another.
struct PoolHandler {
    CARILLON_HD Message operator()(Message const& request) const {
        return Message::make(request.whole() ? ~request.number : 0);
    }
};
struct PoolBlockHandler : PoolHandler {
    static constexpr unsigned threads = 64;
    CARILLON_HD Message operator()(Message const& request) const {
        return PoolHandler::operator()(request);
    }
};

namespace {

Message asked_by(std::uint64_t client, std::uint64_t number) {
    return Message::make(client << 32U | number);
}
bool answers(Message const& reply, std::uint64_t client, std::uint64_t number) {
    return reply.whole() && reply.number == ~(client << 32U | number);
}

class PooledKernelTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(PooledKernelTest);

// Threads with several requests outstanding each, taken from the oldest or from the newest.
template <class Kernel>
void everyone_gets_their_own(Kernel const& kernel, unsigned clients, std::uint64_t count) {
    constexpr std::size_t outstanding = 8;
    std::atomic<std::uint64_t> wrong = 0;
    std::vector<std::jthread> threads;
    for (std::uint64_t c = 1; c <= clients; ++c) {
        threads.emplace_back([&, c] {
            auto client = kernel.client();
            std::uint64_t number = 0;
            while (number < count) {
                std::array<std::optional<PoolTicket>, outstanding> tickets;
                for (std::size_t i = 0; i < outstanding; ++i) {
                    tickets.at(i) = client.submit(asked_by(c, number + i), patience);
                }
                for (std::size_t i = 0; i < outstanding; ++i) {
                    std::size_t const which = c % 2 == 0 ? i : outstanding - 1 - i;
                    auto const reply = client.wait(*tickets.at(which), patience);
                    if (!answers(reply, c, number + which)) ++wrong;
                }
                number += outstanding;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0U);
}

TEST_P(PooledKernelTest, everyClientGetsItsOwnReplies) {
    PooledKernel<PoolHandler> kernel(device(), {.kernel = {.blocks = 3, .capacity = 16}});
    everyone_gets_their_own(kernel, 3, 2000);
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
}

TEST_P(PooledKernelTest, lanesThatTakeStripesAnswerAll) {
    PooledKernel<PoolHandler> kernel(
        device(), {.kernel = {.blocks = 2, .capacity = 256}, .replies = 16, .stripe = 32});
    everyone_gets_their_own(kernel, 2, 2000);
}

TEST_P(PooledKernelTest, blocksOfSeveralThreadsAnswerAll) {
    PooledKernel<PoolBlockHandler> kernel(device(), {.kernel = {.blocks = 2, .capacity = 8}});
    everyone_gets_their_own(kernel, 2, 500);
}

// Catches a request that is given to a block which is busy.
TEST_P(PooledKernelTest, blockThatTakesLongHoldsNobodyUp) {
    Gate gate(device());
    PooledKernel<GatedHandler> kernel(device(), {.kernel = {.blocks = 2, .capacity = 8}},
                                      GatedHandler{gate.on_device()});
    auto client = kernel.client();
    PoolTicket const slow = client.submit({1, 1}, patience);
    for (std::uint64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(client.call({i, 0}, patience).value, 3 * i + 1);
    }
    EXPECT_EQ(client.try_take(slow), std::nullopt);
    EXPECT_EQ(kernel.activity(), BlockActivity::busy);
    gate.open(1);
    EXPECT_EQ(client.wait(slow, patience).value, 4U);
    EXPECT_TRUE(eventually([&] { return kernel.activity() == BlockActivity::idle; }));
}

// Catches a late reply that is taken for another's, and one that takes its room away for good.
TEST_P(PooledKernelTest, lateRepliesAreDropped) {
    Gate gate(device());
    PooledKernel<GatedHandler> kernel(
        device(), {.kernel = {.blocks = 1, .capacity = 8}, .clients = 1, .replies = 4},
        GatedHandler{gate.on_device()});
    auto client = kernel.client();
    for (std::uint64_t round = 1; round <= 20; ++round) {
        PoolTicket const held = client.submit({round, round}, patience);
        for (std::uint64_t i = 0; i < 3; ++i) client.abandon(client.submit({i, 0}, patience));
        CARILLON_EXPECT_ERROR((void)client.wait(held, 1ms), TimeoutError, "no reply within");
        EXPECT_EQ(client.try_submit({0, 0}), std::nullopt) << "every place is taken";
        gate.open(round);
        EXPECT_EQ(client.wait(held, patience).value, 3 * round + 1);
        CARILLON_EXPECT_ERROR((void)client.try_take(held), UsageError, "no reply is outstanding");
        EXPECT_EQ(client.call({100 + round, 0}, patience).value, 3 * (100 + round) + 1);
    }
    // A client that goes gives up what it has; another has its room.
    (void)client.submit({1, 21}, patience);
    { auto const gone = std::move(client); }
    gate.open(21);
    EXPECT_EQ(kernel.client().call({7, 0}, patience).value, 22U);
}

TEST_P(PooledKernelTest, drainAnswersWhatWasSentAndStopRefusesTheRest) {
    Gate gate(device());
    auto kernel = std::make_unique<PooledKernel<GatedHandler>>(
        device(), PooledKernelOptions{.kernel = {.blocks = 2, .capacity = 32}},
        GatedHandler{gate.on_device()});
    auto client = kernel->client();
    std::vector<PoolTicket> tickets;
    for (std::uint64_t i = 0; i < 10; ++i) tickets.push_back(client.submit({i, 1}, patience));
    CARILLON_EXPECT_ERROR(kernel->drain(1ms), TimeoutError, "PooledKernel::drain");
    CARILLON_EXPECT_ERROR((void)client.try_submit({1, 0}), StoppedError, "draining");
    gate.open(1);
    kernel->drain(patience);
    for (std::uint64_t i = 0; i < 10; ++i) {
        EXPECT_EQ(client.try_take(tickets[i]).value().value, 3 * i + 1);
    }
    CARILLON_EXPECT_ERROR((void)client.call({1, 0}, patience), StoppedError, "was stopped");
    kernel.reset();  // before its client
}

// Catches a ring that a thread which died holds up.
TEST_P(PooledKernelTest, clientWhoseThreadDiedIsForgotten) {
    PooledKernel<PoolHandler> kernel(device(), {.kernel = {.capacity = 4}, .clients = 2});
    std::optional<PoolClient<Message, Message>> left;
    std::thread([&] {
        left.emplace(kernel.client());
        (void)left->submit(asked_by(1, 1), patience);
    }).join();
    auto client = kernel.client();
    for (std::uint64_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(answers(client.call(asked_by(2, i), patience), 2, i));
    }
    left.reset();
    kernel.drain(patience);
}

TEST_P(PooledKernelTest, whatCannotBeIsAUsageError) {
    using Kernel = PooledKernel<PoolHandler>;
    CARILLON_EXPECT_ERROR(Kernel(device(), {.kernel = {.channels_per_block = 2}}), UsageError,
                          "have no channels of their own");
    CARILLON_EXPECT_ERROR(Kernel(device(), {.kernel = {.express = true}}), UsageError,
                          "have no channels of their own");
    CARILLON_EXPECT_ERROR(Kernel(device(), {.clients = 0}), UsageError, "no client");
    CARILLON_EXPECT_ERROR(Kernel(device(), {.kernel = {.blocks = 4, .capacity = 64}, .stripe = 32}),
                          UsageError, "4 blocks that take 32 requests at a time");
    CARILLON_EXPECT_ERROR(PooledKernel<PoolBlockHandler>(device(), {.stripe = 32}), UsageError,
                          "take one request at a time");
    Kernel const kernel(device(), {.clients = 1});
    auto const client = kernel.client();
    CARILLON_EXPECT_ERROR((void)kernel.client(), UsageError, "PooledKernel::client: all 1 clients");
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// A kernel whose blocks share one ring.
#include <algorithm>
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
// A handler of several types of command, which refuses values over 100.
struct Halve {
    double value;
};
struct Tell {
    std::uint32_t words[9];  // as large as a command to a pool may be
};
struct PoolDesk {
    using Commands = carillon::Commands<Halve, Tell>;
    CARILLON_HD Outcome<double> operator()(Halve const& halve) const {
        if (halve.value > 100) return Refusal{7};
        return halve.value / 2;
    }
    CARILLON_HD std::uint32_t operator()(Tell const& tell) const { return tell.words[8]; }
};
struct PoolMade {  // it has no default constructor
    CARILLON_HD explicit PoolMade(std::uint32_t from) : value(from) {}
    std::uint32_t value;
};
struct PoolMaker {
    CARILLON_HD PoolMade operator()(PoolMade const& made) const { return PoolMade(~made.value); }
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
                std::array<std::optional<Ticket>, outstanding> tickets;
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
    PersistentKernel<PoolHandler, Pool> kernel(device(), {.blocks = 3, .capacity = 16});
    everyone_gets_their_own(kernel, 3, 2000);
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
}

TEST_P(PooledKernelTest, lanesThatTakeStripesAnswerAll) {
    PersistentKernel<PoolHandler, Pool> kernel(
        device(), {.blocks = 2, .capacity = 256, .pool = {.replies = 16, .stripe = 32}});
    everyone_gets_their_own(kernel, 2, 2000);
}

TEST_P(PooledKernelTest, blocksOfSeveralThreadsAnswerAll) {
    PersistentKernel<PoolBlockHandler, Pool> kernel(device(), {.blocks = 2, .capacity = 8});
    everyone_gets_their_own(kernel, 2, 500);
}

TEST_P(PooledKernelTest, everyCommandGetsItsOwnReply) {
    PersistentKernel<PoolDesk, Pool> const kernel(device(), {.blocks = 2, .pool = {.clients = 2}});
    auto client = kernel.client();
    for (std::uint32_t i = 0; i < 20; ++i) {
        auto const told = client.submit(Tell{{0, 0, 0, 0, 0, 0, 0, 0, i}}, patience);
        auto const refused = client.submit(Halve{101}, patience);
        EXPECT_EQ(client.call(Halve{3}, patience), 1.5);
        CARILLON_EXPECT_ERROR(
            client.wait(refused, patience), HandlerError,
            "Client::wait: the handler refused carillon::test::Halve with code 7");
        EXPECT_EQ(client.wait(told, patience), i);
        CARILLON_EXPECT_ERROR((void)client.try_take(told), UsageError, "no reply is outstanding");
    }
}

// Catches a request that is given to a busy block.
TEST_P(PooledKernelTest, requestsWithoutADefaultConstructorAreAnswered) {
    for (std::uint32_t const stripe : {1U, 4U}) {
        PersistentKernel<PoolMaker, Pool> const kernel(device(), {.pool = {.stripe = stripe}});
        auto client = kernel.client();
        EXPECT_EQ(client.call(PoolMade(7), patience).value, ~7U);
    }
}

TEST_P(PooledKernelTest, blockThatTakesLongHoldsNobodyUp) {
    Gate gate(device());
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.blocks = 2, .capacity = 8},
                                                GatedHandler{gate.device_view()});
    auto client = kernel.client();
    Ticket const slow = client.submit({1, 1}, patience);
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
    PersistentKernel<GatedHandler, Pool> kernel(
        device(), {.blocks = 1, .capacity = 8, .pool = {.clients = 1, .replies = 4}},
        GatedHandler{gate.device_view()});
    auto client = kernel.client();
    for (std::uint64_t round = 1; round <= 20; ++round) {
        Ticket const held = client.submit({round, round}, patience);
        for (std::uint64_t i = 0; i < 3; ++i) client.abandon(client.submit({i, 0}, patience));
        CARILLON_EXPECT_ERROR((void)client.wait(held, 1ms), TimeoutError, "no reply came before");
        EXPECT_EQ(client.try_submit({0, 0}), std::nullopt) << "every place is taken";
        gate.open(round);
        EXPECT_EQ(client.wait(held, patience).value, 3 * round + 1);
        CARILLON_EXPECT_ERROR((void)client.try_take(held), UsageError, "no reply is outstanding");
        EXPECT_EQ(client.call({100 + round, 0}, patience).value, 3 * (100 + round) + 1);
    }
    // A client that goes gives up its slots; another client gets them.
    (void)client.submit({1, 21}, patience);
    { auto const gone = std::move(client); }
    gate.open(21);
    EXPECT_EQ(kernel.client().call({7, 0}, patience).value, 22U);
}

TEST_P(PooledKernelTest, drainAnswersWhatWasSentAndStopRefusesTheRest) {
    Gate gate(device());
    auto kernel = std::make_unique<PersistentKernel<GatedHandler, Pool>>(
        device(), KernelOptions{.blocks = 2, .capacity = 32}, GatedHandler{gate.device_view()});
    auto client = kernel->client();
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 10; ++i) tickets.push_back(client.submit({i, 1}, patience));
    CARILLON_EXPECT_ERROR(kernel->drain(1ms), TimeoutError, "PersistentKernel::drain");
    CARILLON_EXPECT_ERROR((void)client.try_submit({1, 0}), StoppedError, "draining");
    gate.open(1);
    kernel->drain(patience);
    for (std::uint64_t i = 0; i < 10; ++i) {
        EXPECT_EQ(client.try_take(tickets[i]).value().value, 3 * i + 1);
    }
    CARILLON_EXPECT_ERROR((void)client.call({1, 0}, patience), StoppedError, "was drained");
    kernel.reset();  // before its client
}

// Catches a ring that a dead thread holds up.
TEST_P(PooledKernelTest, clientWhoseThreadDiedIsForgotten) {
    PersistentKernel<PoolHandler, Pool> kernel(device(), {.capacity = 4, .pool = {.clients = 2}});
    std::optional<PersistentKernel<PoolHandler, Pool>::Client> left;
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

TEST_P(PooledKernelTest, poolThatSaysNothingOfItsBlocksHasAsManyAsSuitTheDevice) {
    using Kernel = PersistentKernel<PoolHandler, Pool>;
    unsigned const suit =
        device().traits().shares_processors
            ? std::clamp(detail::cpu::available_processors(), 2U, 3U) - 1
            : std::min(32U, static_cast<unsigned>(device().info().sm_count.value_or(1)));
    EXPECT_EQ(Kernel(device()).blocks(), suit);
    EXPECT_EQ(Kernel(device(), {.capacity = 64, .pool = {.stripe = 32}}).blocks(),
              std::min(suit, 2U));
    EXPECT_EQ(Kernel(device(), {.capacity = 64, .pool = {.stripe = 16}}).blocks(),
              std::min(suit, 4U));
    EXPECT_EQ(Kernel(device(), {.blocks = 1}).blocks(), 1U);
    EXPECT_EQ(PersistentKernel<PoolHandler>(device()).blocks(), 1U);
    Kernel kernel(device());
    everyone_gets_their_own(kernel, 2, 200);
    for (unsigned block = 0; block < suit; ++block) (void)kernel.sm(block);
    CARILLON_EXPECT_ERROR((void)kernel.sm(suit), UsageError, "there is no block");
}

TEST_P(PooledKernelTest, whatCannotBeIsAUsageError) {
    using Kernel = PersistentKernel<PoolHandler, Pool>;
    CARILLON_EXPECT_ERROR(Kernel(device(), {.pool = {.clients = 0}}), UsageError,
                          "Pool::clients and Pool::replies");
    CARILLON_EXPECT_ERROR(Kernel(device(), {.blocks = 4, .capacity = 64, .pool = {.stripe = 32}}),
                          UsageError, "4 blocks that take 32 requests at a time");
    using OfThreads = PersistentKernel<PoolBlockHandler, Pool>;
    CARILLON_EXPECT_ERROR(OfThreads(device(), {.pool = {.stripe = 32}}), UsageError,
                          "takes one request at a time");
    Kernel const kernel(device(), {.pool = {.clients = 1}});
    auto const client = kernel.client();
    CARILLON_EXPECT_ERROR((void)kernel.client(), UsageError,
                          "PersistentKernel::client: all 1 clients");
}

}  // namespace
}  // namespace carillon::test

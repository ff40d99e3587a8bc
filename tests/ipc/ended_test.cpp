// SPDX-License-Identifier: Apache-2.0
// The kernel ends by itself, or is asked to end, while clients are there. P is the owner, C its
// clients; all are in this process.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

// Throws the exception that its request asks for.
struct ThrowingHandler {
    Told operator()(Ask const& ask) const {
        if (ask.value == 1) throw std::runtime_error("one is no request");
        if (ask.value == 2) throw 2;  // NOLINT: a handler may throw anything
        return {2 * ask.value, 0};
    }
};

class EndedTest : public WithDevice<> {
   protected:
    // Waits until `call` throws StoppedError, requires that it goes on throwing, and returns the
    // text.
    template <class Call>
    static std::string throws_for_good(Call&& call) {
        std::string what;
        auto const thrown = [&] {
            try {
                (void)call();
            } catch (StoppedError const& error) {
                what = error.what();
                return true;
            }
            return false;
        };
        EXPECT_TRUE(eventually(thrown));
        auto const until = std::chrono::steady_clock::now() + 250ms;
        while (std::chrono::steady_clock::now() < until) {
            EXPECT_TRUE(thrown());
            std::this_thread::sleep_for(1ms);
        }
        return what;
    }
};

TEST_F(EndedTest, lifetimeThatIsOverIsToldOnceAndForAll) {
    auto const owned = kernel({.lifetime = 100ms});
    Server const server = owned.serve(path());
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    std::string const what = throws_for_good([&] { return channel.try_submit({1}); });
    EXPECT_EQ(what, "Client::try_submit: the kernel has ended: its lifetime is over");
    CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), RefusedError, "lifetime is over");
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), RefusedError, "lifetime is over");
}

TEST_F(EndedTest, whatAHandlerThrowsIsToldToClients) {
    auto const owned = kernel<ThrowingHandler>();
    Server const server = owned.serve(path());
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    EXPECT_EQ(channel.call({3}, patience).twice, 6U);
    CARILLON_EXPECT_ERROR(channel.call({1}, patience), StoppedError, "one is no request");
    std::string const what = throws_for_good([&] { return channel.try_submit({3}); });
    EXPECT_EQ(what, "Client::try_submit: the kernel has failed: one is no request");
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), RefusedError, "one is no request");
}

// A client that polls for a reply learns that it will not come, as a client that waits does.
TEST_F(EndedTest, replyThatWillNotComeIsSaidToWhoPollsForIt) {
    auto const owned = kernel<ThrowingHandler>();
    Server const server = owned.serve(path());
    auto channel = connect().channel<Ask, Told>();
    Ticket const ticket = channel.submit({1}, patience);
    std::string const what = throws_for_good([&] { return channel.try_take(ticket); });
    EXPECT_EQ(what, "Client::try_take: the kernel has failed: one is no request");
}

TEST_F(EndedTest, handlerMayThrowWhatIsNoException) {
    auto const owned = kernel<ThrowingHandler>();
    Server const server = owned.serve(path());
    auto channel = connect().channel<Ask, Told>();
    CARILLON_EXPECT_ERROR(channel.call({2}, patience), StoppedError, "other than an exception");
    EXPECT_EQ(server.clients().size(), 1U);
}

TEST_F(EndedTest, drainThatTimesOutMayBeAskedAgain) {
    Gate gate;
    auto owned = kernel<HeldHandler>({.blocks = 2}, {&gate});
    Server const server = owned.serve(path());
    auto idle = connect().channel<Ask, Told>();
    auto channel = connect().channel<Ask, Told>();
    Ticket const ticket = channel.submit({1}, patience);
    EXPECT_THROW(owned.drain(50ms), TimeoutError);
    EXPECT_THROW(owned.drain(0ns), TimeoutError);
    // Meanwhile no client gets in, and nothing is sent.
    EXPECT_NE(throws_for_good([&] { return idle.try_submit({0}); }).find("draining"),
              std::string::npos);
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), RefusedError, "draining");
    gate.open = true;
    EXPECT_NO_THROW(owned.drain(patience));
    EXPECT_EQ(channel.wait(ticket, patience).twice, 2U);
}

TEST_F(EndedTest, drainDoesNotWaitForWhoHasGone) {
    Gate gate;
    auto owned = kernel<HeldHandler>({}, {&gate});
    Server const server = owned.serve(path());
    std::optional<Connection> connection(connect());
    {
        auto channel = connection->channel<Ask, Told>();
        (void)channel.submit({1}, patience);
        EXPECT_THROW(owned.drain(20ms), TimeoutError);
    }
    gate.open = true;
    EXPECT_NO_THROW(owned.drain(patience));
}

TEST_F(EndedTest, anyOfThemMayGoFirst) {
    for (unsigned first = 0; first < 4; ++first) {
        std::optional owned(kernel({.blocks = 2}));
        std::optional server(owned->serve(path()));
        std::optional connection(connect());
        using Ends = Channel<Ask, Told>;
        std::unique_ptr<Ends> channel(new Ends(connection->channel<Ask, Told>()));
        EXPECT_EQ(channel->call({1}, patience).twice, 2U);
        if (first == 0) owned.reset();
        if (first == 1) server.reset();
        if (first == 2) connection.reset();
        if (first == 3) channel.reset();
        if (channel && first < 2) {
            (void)throws_for_good([&] { return channel->call({1}, patience); });
        } else if (channel) {
            EXPECT_EQ(channel->call({1}, patience).twice, 2U);
        }
        if (first % 2 == 0) server.reset();
        channel.reset();
        owned.reset();
    }
}

}  // namespace
}  // namespace carillon::test

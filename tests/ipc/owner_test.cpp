// SPDX-License-Identifier: Apache-2.0
// The owner ends, in each way that there is. P is the owner, in a process of its own; C is a
// client, in this one.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

class OwnerTest : public AtPath<> {
   protected:
    [[nodiscard]] Process start_owner() const { return serving({"own", path(), "2"}); }
};

TEST_F(OwnerTest, saysWhichProcessItIs) {
    Process const owner = start_owner();
    Connection const connection = connect();
    EXPECT_EQ(connection.owner().process, owner.pid());
    EXPECT_EQ(connection.owner().name, "kernel");
    EXPECT_NE(connection.owner().instance, 0U);
}

TEST_F(OwnerTest, killedOneIsAnErrorInEveryCall) {
    // 1. P serves, C calls.
    Process owner = start_owner();
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    Ticket const ticket = channel.submit({21}, patience);
    EXPECT_EQ(channel.wait(ticket, patience).twice, 42U);
    ASSERT_TRUE(owner.stop());
    Ticket const lost = channel.submit({1}, patience);
    Tickets several = channel.try_submit_n(std::array{Ask{1}, Ask{2}});
    // 2. P is killed.
    EXPECT_TRUE(owner.kill());
    // 3. Each of C's calls says so, and none waits.
    CARILLON_EXPECT_ERROR(channel.call({1}, patience), OwnerGoneError, "Client::call");
    CARILLON_EXPECT_ERROR((void)channel.try_take(lost), OwnerGoneError, "Client::try_take");
    std::array<Told, 2> replies;
    CARILLON_EXPECT_ERROR((void)channel.try_take_n(several, replies), OwnerGoneError,
                          "Client::try_take_n");
    CARILLON_EXPECT_ERROR(channel.try_submit({1}), OwnerGoneError, "owner");
    CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), OwnerGoneError, "owner");
}

TEST_F(OwnerTest, whatItHadAnsweredCanBeTakenAfterItsDeath) {
    Process owner = start_owner();
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    // 1. C sends two requests, P answers both.
    Ticket const first = channel.submit({1}, patience);
    Ticket const second = channel.submit({2}, patience);
    EXPECT_TRUE(eventually([&] { return channel.all_answered(); }));
    // 2. P is killed. 3. C has both replies.
    EXPECT_TRUE(owner.kill());
    EXPECT_EQ(channel.wait(second, patience).twice, 4U);
    EXPECT_EQ(channel.wait(first, patience).twice, 2U);
}

TEST_F(OwnerTest, anotherOneTakesThePathOver) {
    // 1. P serves and is killed: its socket stays where it is.
    std::optional<Process> owner(start_owner());
    std::uint64_t const first = connect().owner().instance;
    EXPECT_TRUE(owner->kill());
    EXPECT_TRUE(std::filesystem::exists(path()));
    // 2. P is started again. 3. C connects again, and can see that this is another owner.
    owner.emplace(start_owner());
    Connection const connection = connect();
    EXPECT_NE(connection.owner().instance, first);
    auto channel = connection.channel<Ask, Told>();
    Told const told = channel.call({5}, patience);
    EXPECT_EQ(told.twice, 10U);
    EXPECT_EQ(told.served, 0U);
}

TEST_F(OwnerTest, clientThatWaitsForItsOwnerFindsIt) {
    // 1. C waits. 2. P is started.
    auto waits = std::async(std::launch::async, [&] {
        return connect({.timeout = patience, .wait_for_owner = patience});
    });
    Process const owner = start_owner();
    EXPECT_EQ(waits.get().owner().process, owner.pid());
}

// Each request that was sent is answered or unknown: at most one unknown for each death.
TEST_F(OwnerTest, ledgerBalancesThoughItsOwnerIsKilledAgainAndAgain) {
    constexpr std::uint64_t all = 3000;
    constexpr unsigned deaths = 4;
    std::atomic<std::uint64_t> answered = 0;
    std::uint64_t sent = 0;
    std::uint64_t unknown = 0;
    // 1. C asks, and attaches anew whenever P has gone.
    std::jthread client([&] {
        while (answered < all) {
            bool asked = false;
            try {
                Connection const owner = connect({.timeout = patience, .wait_for_owner = patience});
                auto channel = owner.channel<Ask, Told>();
                for (std::uint64_t served = 0; answered < all; ++served) {
                    asked = true;
                    ++sent;
                    Told const told = channel.call({sent}, patience);
                    asked = false;
                    EXPECT_EQ(told.twice, 2 * sent);
                    EXPECT_EQ(told.served, served);  // each owner has served what it answered
                    ++answered;
                }
            } catch (OwnerGoneError const&) {
                if (asked) ++unknown;
            }
        }
    });
    // 2. P is killed while it serves, and started again.
    for (unsigned i = 0; i < deaths; ++i) {
        Process owner = start_owner();
        std::uint64_t const before = answered;
        EXPECT_TRUE(eventually([&] { return answered > before || answered == all; }));
        EXPECT_TRUE(owner.kill());
    }
    Process const last = start_owner();
    EXPECT_TRUE(eventually([&] { return answered == all; }));
    // 3. It adds up.
    client.join();
    EXPECT_EQ(sent, answered + unknown);
    EXPECT_LE(unknown, deaths);
}

TEST_F(OwnerTest, oneThatEndsByItselfTakesItsPathAway) {
    Process owner = start_owner();
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    owner.close_input();
    EXPECT_EQ(owner.status(), 0);
    EXPECT_FALSE(std::filesystem::exists(path()));
    CARILLON_EXPECT_ERROR(channel.call({1}, patience), OwnerGoneError, "owner");
}

}  // namespace
}  // namespace carillon::test

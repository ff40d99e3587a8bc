// SPDX-License-Identifier: Apache-2.0
// Clients that have a place and ask for nothing: they are idle, and no drain waits for one that
// cannot answer. P is the owner, this process; C is a client.
#include <gtest/gtest.h>

#include <memory>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class SilentClientsTest : public WithDevice<> {
   protected:
    using Kernel = PersistentKernel<HeldHandler, SharedChannels>;

    [[nodiscard]] Kernel& kernel() { return kernel_; }
    [[nodiscard]] bool begun() const { return gate_.begun; }
    // Lets every handler return from now on.
    void go_on() { gate_.open = true; }
    [[nodiscard]] BlockActivity activity_of(Connection const& owner, std::size_t object = 0) const {
        return owner.status().objects.at(object).blocks.at(0).activity;
    }

   private:
    Gate gate_;
    Kernel kernel_ = WithDevice::kernel<HeldHandler>({.blocks = 2, .stuck_after = 1h}, {&gate_});
    std::shared_ptr<void> const whatever_comes_{nullptr, [this](void*) { go_on(); }};
};

TEST_F(SilentClientsTest, blockIsBusyWhileARequestIsNotAnswered) {
    Server const server = kernel().serve(path());
    Connection const owner = connect();
    auto channel = owner.channel<Ask, Told>();
    EXPECT_EQ(activity_of(owner), BlockActivity::idle);
    EXPECT_EQ(kernel().activity(0), BlockActivity::idle);
    Ticket const ticket = channel.submit({1}, patience);
    EXPECT_EQ(activity_of(owner), BlockActivity::busy);
    EXPECT_EQ(kernel().activity(0), BlockActivity::busy);
    EXPECT_EQ(kernel().activity(1), BlockActivity::idle);
    go_on();
    EXPECT_TRUE(eventually([&] { return activity_of(owner) == BlockActivity::idle; }))
        << "the reply is there, and nobody has taken it";
    EXPECT_EQ(channel.wait(ticket, patience).twice, 2U);
}

// A client that goes leaves its last request to the block.
TEST_F(SilentClientsTest, blockIsBusyWithTheLastRequestOfAClientThatWent) {
    Server const server = kernel().serve(path());
    Connection const watcher = connect();
    {
        Connection const owner = connect();
        auto channel = owner.channel<Ask, Told>();
        (void)channel.submit({1}, patience);
        EXPECT_TRUE(eventually([&] { return begun(); }));
    }
    EXPECT_TRUE(eventually([&] { return server.clients().size() == 1; }));
    EXPECT_EQ(activity_of(watcher), BlockActivity::busy);
    go_on();
    EXPECT_TRUE(eventually([&] { return activity_of(watcher) == BlockActivity::idle; }));
}

TEST_F(SilentClientsTest, mailboxThatIsLentIsIdleAndARingThatIsNotEmptyIsBusy) {
    Server server;
    SharedMailbox<Ask> const mailbox(device());
    SharedRing<Ask, Direction::to_device> const ring(device());
    server.add("mailbox", mailbox);
    server.add("ring", ring);
    server.open(path());
    Connection const owner = connect();
    auto lent = owner.mailbox<Ask>("mailbox");
    lent.set({1});
    auto pushed = owner.ring<Ask, Direction::to_device>("ring");
    EXPECT_EQ(activity_of(owner, 0), BlockActivity::idle);
    EXPECT_EQ(activity_of(owner, 1), BlockActivity::idle);
    pushed.push({1}, patience);
    EXPECT_EQ(activity_of(owner, 1), BlockActivity::busy);
}

TEST_F(SilentClientsTest, countersOfAClientThatHasGoneStillAddUp) {
    go_on();
    Server const server = kernel().serve(path());
    Connection const watcher = connect();
    auto const sum = [&](auto count) {
        auto const blocks = watcher.status().objects.at(0).blocks;
        return count(blocks.at(0)) + count(blocks.at(1));
    };
    for (std::uint64_t clients = 1; clients < 4; ++clients) {
        {
            Connection const owner = connect();
            auto channel = owner.channel<Ask, Told>();
            for (unsigned i = 0; i < 10; ++i) (void)channel.call({i}, patience);
            EXPECT_EQ(sum([](auto const& each) { return each.all().submitted; }), 10 * clients);
        }
        EXPECT_TRUE(eventually([&] { return server.clients().size() == 1; }));
        EXPECT_EQ(sum([](auto const& each) { return each.counters.submitted; }), 0U);
        EXPECT_EQ(sum([](auto const& each) { return each.all().submitted; }), 10 * clients);
        EXPECT_EQ(sum([](auto const& each) { return each.all().taken; }), 10 * clients);
    }
}

// 1. C, in another process, has a block and is stopped. 2. P drains. 3. C goes on, and hears of it.
TEST_F(SilentClientsTest, drainPassesOverAClientThatIsStopped) {
    Server const server = kernel().serve(path());
    Process client = attached({"call", path(), "1", "wait"});
    ASSERT_TRUE(client.stop());
    EXPECT_NO_THROW(kernel().drain(patience));
    EXPECT_FALSE(kernel().running());
    client.go_on();
    client.tell("go on");
    EXPECT_NE(client.status(), 0);
}

// A drain waits for a request that a handler has, although its client is stopped.
TEST_F(SilentClientsTest, drainWaitsForARequestOfAClientThatIsStopped) {
    Server const server = kernel().serve(path());
    Process client = attached({"call", path(), "1"});
    ASSERT_TRUE(eventually([&] { return begun(); }));
    ASSERT_TRUE(client.stop());
    CARILLON_EXPECT_ERROR(kernel().drain(50ms), TimeoutError,
                          "some requests are still unanswered after 50 ms");
    go_on();
    EXPECT_NO_THROW(kernel().drain(patience));
    client.go_on();
}

}  // namespace
}  // namespace carillon::test

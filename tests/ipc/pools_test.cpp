// SPDX-License-Identifier: Apache-2.0
// Clients of other processes share all blocks of a kernel. P is this process, which owns the
// kernel; C is a client, in a process of its own, which never loads CUDA.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

class PoolsTest : public AtPath<KernelTest> {
   protected:
    template <class Handler = CountingHandler>
    [[nodiscard]] PersistentKernel<Handler, SharedPool> kernel(unsigned blocks,
                                                               unsigned clients) const {
        return PersistentKernel<Handler, SharedPool>(device(),
                                                     {.blocks = blocks,
                                                      .capacity = 16,
                                                      .idle = IdlePolicy::park(),
                                                      .shared_pool = {.clients = clients}});
    }
};
CARILLON_ON_EVERY_DEVICE(PoolsTest);

// Expects that the client found each of its replies right.
void expect_right(Process& client) {
    EXPECT_EQ(client.line(), "right");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(PoolsTest, anotherProcessIsAnsweredByAnyBlock) {
    // 1. P starts a kernel of two blocks and serves.
    auto const owned = kernel(2, 1);
    Server const server = owned.serve(path());
    // 2. C attaches, calls one by one and in rows, and goes. 3. So does the next one.
    for (unsigned i = 0; i < 3; ++i) {
        Process client = attached({"call-any", path(), "500"});
        expect_right(client);
    }
}

// So many clients attach, and then all call at once.
void expect_all_right(std::string const& path, unsigned clients, unsigned calls) {
    std::vector<Process> all;
    for (unsigned i = 0; i < clients; ++i) {
        all.emplace_back(Process({"call-any", path, std::to_string(calls), "wait"}));
    }
    for (Process& client : all) EXPECT_EQ(client.line(), "attached");
    for (Process& client : all) client.tell("go on");
    for (Process& client : all) expect_right(client);
}

TEST_P(PoolsTest, moreClientsThanBlocks) {
    auto const owned = kernel(2, 5);
    Server const server = owned.serve(path());
    expect_all_right(path(), 5, 200);
}

TEST_P(PoolsTest, sixtyFourAtOnceShareTwoBlocks) {
    auto const owned = kernel(2, 64);
    Server const server = owned.serve(path());
    expect_all_right(path(), 64, 20);
}

TEST_P(PoolsTest, oneBlockServesSeveral) {
    auto const owned = kernel(1, 3);
    Server const server = owned.serve(path());
    expect_all_right(path(), 3, 200);
}

TEST_P(PoolsTest, messagesOfSeveralLines) {
    auto const owned = kernel<SumHandler>(2, 2);
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 2; ++i) {
        Process client({"call-long", path()});
        EXPECT_EQ(client.status(), 0);
    }
}

TEST_P(PoolsTest, handlerOfAWholeWarp) {
    auto const owned = kernel<WarpHandler>(2, 3);
    Server const server = owned.serve(path());
    expect_all_right(path(), 3, 200);
}

TEST_P(PoolsTest, commandsOfATableAndWhatIsRefused) {
    auto const owned = kernel<AccountHandler>(1, 1);
    Server const server = owned.serve(path());
    Process client({"command", path()});
    EXPECT_NE(client.line().find("Withdraw with code 41"), std::string::npos);
    EXPECT_EQ(client.status(), 0);
}

TEST_P(PoolsTest, oneMoreThanThereArePlacesIsRefused) {
    auto const owned = kernel(1, 2);
    Server const server = owned.serve(path());
    Connection const owner = connect();
    auto const first = owner.channel<Ask, Told>();
    auto const second = owner.channel<Ask, Told>();
    CARILLON_EXPECT_ERROR(((void)owner.channel<Ask, Told>()), RefusedError,
                          "all 2 places of the kernel have clients");
}

TEST_P(PoolsTest, oneThatWasKilledLeavesItsPlaceToTheNext) {
    auto const owned = kernel(2, 1);
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 3; ++i) {
        // 1. C sends more than it takes. 2. It is killed.
        Process client = attached({"leave-replies", path()});
        EXPECT_TRUE(client.kill());
        // 3. The next C is let in once P has seen that, and is answered.
        EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
        Process next = attached({"call-any", path(), "50"});
        expect_right(next);
        EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
    }
}

TEST_P(PoolsTest, oneThatIsKilledAtAnyMomentHarmsNoOther) {
    auto const owned = kernel(2, 2);
    Server const server = owned.serve(path());
    // 1. A C calls and calls.
    Process other = attached({"call-any", path(), "20000"});
    // 2. Others come, call, and are killed.
    for (unsigned i = 0; i < 10; ++i) {
        Process client = attached({"call-any", path(), "0"});
        std::this_thread::sleep_for(std::chrono::microseconds(137 * i));
        EXPECT_TRUE(client.kill());
        EXPECT_TRUE(eventually([&] { return server.clients().size() <= 1; }));
    }
    // 3. The first one has missed nothing.
    expect_right(other);
}

TEST_P(PoolsTest, drainAnswersWhatWasSentAndTakesNothingNew) {
    auto owned = kernel(2, 2);
    Server const server = owned.serve(path());
    // 1. C sends as many requests as there is room for, and waits.
    Process client({"submit-and-take-later", path()});
    EXPECT_EQ(client.line(), "sent");
    // 2. P drains its kernel, which ends.
    EXPECT_NO_THROW(owned.drain(patience));
    EXPECT_FALSE(owned.running());
    // 3. C has all its replies, and its next call fails.
    client.tell("go on");
    EXPECT_EQ(client.line(), "right");
    EXPECT_EQ(client.line().substr(0, 8), "stopped:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(PoolsTest, whatIsThereIsToldOfEachPlace) {
    auto const owned = kernel(2, 3);
    Server const server = owned.serve(path());
    Connection const owner = connect();
    auto channel = owner.channel<Ask, Told>();
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(channel.call({i}, patience).twice, 2 * i);
    auto const places = [&] { return owner.status().objects.at(0).blocks; };
    ASSERT_EQ(places().size(), 3U);
    EXPECT_EQ(places()[0].counters.submitted, 100U);
    EXPECT_EQ(places()[0].counters.answered, 100U);
    EXPECT_EQ(places()[0].counters.taken, 100U);
    EXPECT_EQ(places()[0].activity, BlockActivity::idle) << "its client has sent nothing more";
    EXPECT_EQ(places()[1].activity, BlockActivity::idle);
    EXPECT_EQ(owned.activity(1), BlockActivity::idle);
    EXPECT_TRUE(eventually([&] { return places()[2].beats.seen != 0; }));
}

// C and Python have such clients.
TEST_P(PoolsTest, clientsByBytesAreClientsAsAny) {
    auto const owned = kernel(2, 2);
    Server const server = owned.serve(path());
    Connection const owner = connect();
    auto client =
        owner.channel<Bytes, Bytes>("kernel", {sizeof(Ask), "carillon::test::Ask"}, {sizeof(Told)});
    for (std::uint64_t round = 0; round < 50; ++round) {
        std::vector<Ticket> tickets;
        Ask ask{round};
        while (auto const ticket = client.try_submit(std::as_bytes(std::span(&ask, 1)))) {
            tickets.push_back(*ticket);
            ++ask.value;
        }
        for (std::size_t i = tickets.size(); i-- > 0;) {
            Told told{};
            client.wait(tickets[i], std::as_writable_bytes(std::span(&told, 1)), patience);
            EXPECT_EQ(told.twice, 2 * (round + i));
        }
    }
}

TEST_P(PoolsTest, blocksAreChosenWhereNoneAreSaid) {
    PersistentKernel<CountingHandler, SharedPool> const owned(device(),
                                                              {.idle = IdlePolicy::park()});
    EXPECT_GE(owned.blocks(), 1U);
    Server const server = owned.serve(path());
    expect_all_right(path(), 2, 100);
}

TEST(SharedPoolTest, hasOneTo64Places) {
    auto const device = Device::open("emulated");
    using Kernel = PersistentKernel<CountingHandler, SharedPool>;
    for (unsigned const clients : {0U, 65U}) {
        CARILLON_EXPECT_ERROR(Kernel(device, {.shared_pool = {.clients = clients}}), UsageError,
                              "SharedPool::clients is " + std::to_string(clients) + ": 1 to 64");
    }
}

}  // namespace
}  // namespace carillon::test

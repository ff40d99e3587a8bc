// SPDX-License-Identifier: Apache-2.0
// Clients of other processes command a kernel of this one: each by a block of its own, or all by
// any block of a pool. P is this process, which owns the kernel; C is a client, in a process of its
// own, which never loads CUDA.
#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

// `Requests`: how the kernel serves. A test of both ways is a function here.
template <class Requests>
class ClientsOf : public AtPath<KernelTest> {
   protected:
    static constexpr bool pool = std::same_as<Requests, SharedPool>;

    // A kernel for so many clients at a time. Each has a block, or a place of a pool of `blocks`.
    template <class Handler = CountingHandler>
    [[nodiscard]] PersistentKernel<Handler, Requests> kernel(unsigned clients,
                                                             unsigned blocks = 2) const {
        KernelOptions options;
        options.blocks = pool ? blocks : clients;
        options.capacity = 16;
        options.idle = IdlePolicy::park();
        if (pool) options.shared_pool.clients = clients;
        return PersistentKernel<Handler, Requests>(device(), options);
    }

    // The arguments of a C that calls and checks each reply. `calls` is 0: C calls until it is
    // killed. With one more argument, "wait", C begins when it is told to. In a pool C sends rows
    // of requests, too.
    [[nodiscard]] std::vector<std::string> caller(unsigned calls) const {
        return {pool ? "call-any" : "call", path(), std::to_string(calls)};
    }
    // The client found its replies right. A block of its own had answered `first` before.
    static void expect_right(Process& client, unsigned first = 0) {
        EXPECT_EQ(client.line(), pool ? "right" : "first " + std::to_string(first));
        EXPECT_EQ(client.status(), 0);
    }

    // Where a client has a block of its own, the block keeps its state.
    template <class Handler = CountingHandler>
    void one_client_after_another() const {
        // 1. P starts a kernel and serves.
        auto const owned = this->template kernel<Handler>(1);
        Server const server = owned.serve(path());
        // 2. C attaches, calls and goes. 3. So does the next one.
        for (unsigned i = 0; i < 5; ++i) {
            Process client = attached(caller(1000));
            expect_right(client, 1000 * i);
        }
    }
    // So many clients attach, and then all call at once.
    void all_at_once(unsigned clients, unsigned calls) const {
        std::vector<Process> all;
        std::vector<std::string> arguments = caller(calls);
        arguments.emplace_back("wait");
        for (unsigned i = 0; i < clients; ++i) all.emplace_back(arguments);
        for (Process& client : all) EXPECT_EQ(client.line(), "attached");
        for (Process& client : all) client.tell("go on");
        for (Process& client : all) expect_right(client);
    }
    template <class Handler = CountingHandler>
    void clients_at_once(unsigned clients, unsigned calls, unsigned blocks = 2) const {
        auto const owned = this->template kernel<Handler>(clients, blocks);
        Server const server = owned.serve(path());
        all_at_once(clients, calls);
    }
    void one_that_was_killed_leaves_its_place() const {
        auto const owned = kernel(1);
        Server const server = owned.serve(path());
        for (unsigned i = 0; i < 3; ++i) {
            // 1. C sends more than it takes. 2. It is killed.
            Process client = attached({"leave-replies", path()});
            EXPECT_TRUE(client.kill());
            // 3. The next C is let in once P has seen that, and is answered.
            EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
            Process next = attached(caller(50));
            EXPECT_EQ(next.line().substr(0, 5), pool ? "right" : "first");
            EXPECT_EQ(next.status(), 0);
            EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
        }
    }
    void one_that_is_killed_at_any_moment() const {
        auto const owned = kernel(2);
        Server const server = owned.serve(path());
        // 1. A C calls and calls.
        Process other = attached(caller(20000));
        // 2. Others come, call, and are killed.
        for (unsigned i = 0; i < 10; ++i) {
            Process client = attached(caller(0));
            std::this_thread::sleep_for(std::chrono::microseconds(137 * i));
            EXPECT_TRUE(client.kill());
            EXPECT_TRUE(eventually([&] { return server.clients().size() <= 1; }));
        }
        // 3. The first one has missed nothing.
        expect_right(other);
    }
    // `C` does what it is told, says `says`, and waits.
    void drain_tells(unsigned clients, std::string const& does, std::string const& says,
                     bool has_replies) const {
        auto owned = kernel(clients);
        Server const server = owned.serve(path());
        // 1. C sends requests.
        Process client = started({does, path()}, says);
        // 2. P drains its kernel, which ends.
        EXPECT_NO_THROW(owned.drain(patience));
        EXPECT_FALSE(owned.running());
        EXPECT_TRUE(eventually([&] { return owned.state() == KernelState::stopped; }));
        // 3. C has all its replies, and its next call fails.
        client.tell("go on");
        if (has_replies) {
            EXPECT_EQ(client.line(), "right");
        }
        EXPECT_EQ(client.line().substr(0, 8), "stopped:");
        EXPECT_EQ(client.status(), 0);
    }
    void drain_answers_what_was_sent() const {
        // As many requests as there is room for.
        drain_tells(2, "submit-and-take-later", "sent", true);
        // One, whose reply C has taken.
        drain_tells(1, "ask-twice", "attached", false);
    }
    void commands_of_a_table() const {
        auto const owned = this->template kernel<AccountHandler>(1, 1);
        Server const server = owned.serve(path());
        Process client({"command", path()});
        std::string const said = client.line();
        EXPECT_NE(said.find("Withdraw with code 41"), std::string::npos) << said;
        EXPECT_EQ(client.status(), 0);
    }
    void messages_of_several_lines() const {
        auto const owned = this->template kernel<SumHandler>(pool ? 2 : 1);
        Server const server = owned.serve(path());
        for (unsigned i = 0; i < 2; ++i) {
            Process client({"call-long", path()});
            EXPECT_EQ(client.status(), 0);
        }
    }
};

using ClientsTest = ClientsOf<SharedChannels>;
CARILLON_ON_EVERY_DEVICE(ClientsTest);
TEST_P(ClientsTest, blockServesOneClientAfterAnotherAndKeepsItsState) {
    one_client_after_another();
}
TEST_P(ClientsTest, handlerOfAWholeWarp) { one_client_after_another<WarpHandler>(); }
TEST_P(ClientsTest, eachOfSeveralHasABlock) { clients_at_once(3, 300); }
TEST_P(ClientsTest, sixtyFourAtOnceCommandOneKernel) { clients_at_once(64, 30); }
TEST_P(ClientsTest, oneThatWasKilledLeavesItsBlockToTheNext) {
    one_that_was_killed_leaves_its_place();
}
TEST_P(ClientsTest, oneThatIsKilledAtAnyMomentHarmsNoOther) { one_that_is_killed_at_any_moment(); }
TEST_P(ClientsTest, drainAnswersWhatWasSentAndTakesNothingNew) { drain_answers_what_was_sent(); }
TEST_P(ClientsTest, commandsOfATableAndWhatIsRefused) { commands_of_a_table(); }
TEST_P(ClientsTest, messagesOfSeveralLines) { messages_of_several_lines(); }

using PoolsTest = ClientsOf<SharedPool>;
CARILLON_ON_EVERY_DEVICE(PoolsTest);
TEST_P(PoolsTest, anotherProcessIsAnsweredByAnyBlock) { one_client_after_another(); }
TEST_P(PoolsTest, handlerOfAWholeWarp) { clients_at_once<WarpHandler>(3, 200); }
TEST_P(PoolsTest, moreClientsThanBlocks) { clients_at_once(5, 200); }
TEST_P(PoolsTest, sixtyFourAtOnceShareTwoBlocks) { clients_at_once(64, 20); }
TEST_P(PoolsTest, oneBlockServesSeveral) { clients_at_once(3, 200, 1); }
TEST_P(PoolsTest, oneThatWasKilledLeavesItsPlaceToTheNext) {
    one_that_was_killed_leaves_its_place();
}
TEST_P(PoolsTest, oneThatIsKilledAtAnyMomentHarmsNoOther) { one_that_is_killed_at_any_moment(); }
TEST_P(PoolsTest, drainAnswersWhatWasSentAndTakesNothingNew) { drain_answers_what_was_sent(); }
TEST_P(PoolsTest, commandsOfATableAndWhatIsRefused) { commands_of_a_table(); }
TEST_P(PoolsTest, messagesOfSeveralLines) { messages_of_several_lines(); }

TEST_P(ClientsTest, stopIsToldToClients) {
    auto owned = kernel(1);
    Server const server = owned.serve(path());
    Process client = attached({"ask-twice", path()});
    owned.stop();
    client.tell("go on");
    EXPECT_EQ(client.line().substr(0, 8), "stopped:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, closedServerIsAnOwnerThatHasGone) {
    auto const owned = kernel(1);
    std::optional<Server> server(owned.serve(path()));
    Process client = attached({"ask-twice", path()});
    server.reset();
    client.tell("go on");
    EXPECT_EQ(client.line().substr(0, 11), "owner gone:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, loadsNoCuda) {
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    Process client({"list-drivers", path()});
    std::string const loaded = client.line();
    EXPECT_EQ(loaded.find("libcuda"), std::string::npos) << loaded;
    EXPECT_EQ(client.line(), "why: ");
    EXPECT_EQ(client.status(), 0);
    if (device().info().memory_source == MemorySource::memfd) {
        EXPECT_EQ(loaded, "loaded:");
    }
}

TEST_P(ClientsTest, oneWithoutVulkanHasItsRingsInHostMemoryAndIsToldWhy) {
    if (device().info().memory_source != MemorySource::vulkan) {
        GTEST_SKIP() << "rings of this device need no Vulkan";
    }
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    Process client({"list-drivers", path()},
                   {"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"});
    EXPECT_NE(client.line(), "");
    std::string const why = client.line();
    EXPECT_NE(why.find("Vulkan"), std::string::npos) << why;
    EXPECT_EQ(client.status(), 0);
}

// A block that waits for a request leaves at once, although its replies have no room.
TEST_P(ClientsTest, longMessagesThatNobodyTakesKeepNoBlock) {
    auto const owned = kernel<SumHandler>(1);
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 4; ++i) {
        Connection const owner = connect();
        auto channel = owner.channel<SumHandler>();
        while (channel.try_submit(LongAsk{})) {
        }
    }
}

TEST_P(PoolsTest, oneMoreThanThereArePlacesIsRefused) {
    auto const owned = kernel(2, 1);
    Server const server = owned.serve(path());
    Connection const owner = connect();
    auto const first = owner.channel<Ask, Told>();
    auto const second = owner.channel<Ask, Told>();
    CARILLON_EXPECT_ERROR(((void)owner.channel<Ask, Told>()), RefusedError,
                          "all places (2) are in use");
}

TEST_P(PoolsTest, whatIsThereIsToldOfEachPlace) {
    auto const owned = kernel(3);
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
    auto const owned = kernel(2);
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
    all_at_once(2, 100);
}

TEST(SharedPoolTest, hasOneTo64Places) {
    auto const device = Device::open("emulated");
    using Kernel = PersistentKernel<CountingHandler, SharedPool>;
    for (unsigned const clients : {0U, 65U}) {
        CARILLON_EXPECT_ERROR(
            Kernel(device, {.shared_pool = {.clients = clients}}), UsageError,
            "SharedPool::clients is " + std::to_string(clients) + ", but 1 to 64");
    }
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// How clients come to an owner: whose it is, what it serves when they may come in, and for how long
// they try. P is the owner, C a client; both are in this process unless a test says otherwise.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "carillon/carillon.hpp"
#include "ipc/false_owner.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using Kernel = PersistentKernel<CountingHandler, SharedChannels>;

class ReachingOwnersTest : public WithDevice<> {
   protected:
    template <class Owner = Connection>
    [[nodiscard]] Owner wait() const {
        return connect<Owner>({.timeout = patience, .wait_for_owner = patience});
    }
};

template <class Call>
void expect_wrong_owner(Call&& call) {
    try {
        call();
        ADD_FAILURE() << "it is taken for the right owner";
    } catch (RefusedError const& error) {
        EXPECT_EQ(error.reason(), RefusalReason::wrong_owner) << error.what();
    }
}

TEST_F(ReachingOwnersTest, clientSeesWhoseOwnerItHas) {
    Kernel const served = kernel();
    Server const server = served.serve(path());
    EXPECT_EQ(Connection(path()).owner().user, ::geteuid());
    EXPECT_EQ(Connection(path(), {.owner_user = ::geteuid()}).owner().user, ::geteuid());
    Store const store(device());
    Server const stores = store.serve(path() + "s");
    EXPECT_EQ(Store(path() + "s", {.owner_user = ::geteuid()}).owner().user, ::geteuid());
}

// Catches a client that sends its name, or more, to the first process at the path, whoever runs it.
TEST_F(ReachingOwnersTest, nothingIsSentToAnotherUsersOwner) {
    std::optional<std::promise<bool>> heard(std::in_place);
    FalseOwner const owner(path(), [&](detail::UnixSocket const& client) {
        detail::Received received = detail::NothingThere();
        EXPECT_TRUE(eventually([&] {
            received = client.receive();
            return !std::holds_alternative<detail::NothingThere>(received);
        }));
        heard->set_value(std::holds_alternative<detail::SocketMessage>(received));
    });
    expect_wrong_owner([&] { Connection(path(), {.owner_user = ::geteuid() + 1}); });
    EXPECT_FALSE(heard->get_future().get());
    heard.emplace();
    expect_wrong_owner([&] { Store(path(), {.owner_user = ::geteuid() + 1}); });
    EXPECT_FALSE(heard->get_future().get());
}

TEST_F(ReachingOwnersTest, anotherUsersOwnerIsWrongUnlessItIsAskedFor) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
    // P, in another process, is another user's.
    Process const owner = serving({"own-as", "2000", path(), "1"});
    expect_wrong_owner([&] { Connection{path()}; });
    expect_wrong_owner([&] { Connection(path(), {.owner_user = 0}); });
    Connection const meant(path(), {.owner_user = 2000});
    EXPECT_EQ(meant.owner().user, 2000U);
    EXPECT_EQ((meant.channel<Ask, Told>().call({2}, patience).twice), 4U);
}

// Catches an owner that lets clients in before it has all that they may ask for.
TEST_F(ReachingOwnersTest, nobodyComesInBeforeTheServerIsOpen) {
    Kernel const quotes = kernel();
    Kernel const risk = kernel();
    Server server(ServeOptions{.name = "desk"});
    server.add("quotes", quotes);
    CARILLON_EXPECT_ERROR(Connection(path()), SystemError, path());
    EXPECT_TRUE(server.clients().empty());
    server.add("risk", risk);
    server.open(path());
    EXPECT_EQ(server.path(), path());
    EXPECT_EQ(Connection(path()).status().objects.size(), 2U);
    CARILLON_EXPECT_ERROR(server.open(path() + "2"), UsageError,
                          "Server::open: the server is already open");
}

// 1. The path leads to a store, and C connects. 2. The path leads to another store, while the first
// one is there. 3. C hears nothing of the other.
TEST_F(ReachingOwnersTest, newsOfSealedBuffersAreOfTheConnectionsStore) {
    Store const first(device());
    Store const second(device());
    Server const serves_first = first.serve(path() + "1");
    Server const serves_second = second.serve(path() + "2");
    std::filesystem::create_symlink(path() + "1", path());
    Store const client = wait<Store>();
    EXPECT_FALSE(client.sealed_events().next());
    EXPECT_FALSE(client.sealed_buffers().next());
    std::filesystem::remove(path());
    std::filesystem::create_symlink(path() + "2", path());
    CARILLON_EXPECT_ERROR((void)client.sealed_events(), OwnerGoneError,
                          "Store::sealed_events: another owner now listens at " + path());
    CARILLON_EXPECT_ERROR((void)client.sealed_buffers(), OwnerGoneError,
                          "Store::sealed_buffers: another owner now listens at " + path());
    EXPECT_TRUE(client.list().empty());
}

// 1. The store goes. 2. Nobody listens at the path, and then another server does. 3. C waits for
// neither.
TEST_F(ReachingOwnersTest, newsOfAStoreThatHasGoneAreNotWaitedFor) {
    Store const store(device());
    std::optional<Server> server(store.serve(path()));
    Store const client = wait<Store>();
    auto const expect_gone = [&] {
        CARILLON_EXPECT_ERROR((void)client.sealed_events(), OwnerGoneError, "has closed");
        CARILLON_EXPECT_ERROR((void)client.sealed_buffers(), OwnerGoneError, "has closed");
    };
    server.reset();
    expect_gone();
    server.emplace(store.serve(path()));
    expect_gone();
}

// 1. The store has no room for another connection, and C waits for it. 2. The store goes.
TEST_F(ReachingOwnersTest, newsAreWaitedForAsLongAsTheStoreIsThere) {
    Store const store(device());
    LoggedLines lines;
    std::optional<Server> server(store.serve(path(), {.connections = 1, .log = lines.log()}));
    Store const client = wait<Store>();
    std::jthread const owner([&] {
        EXPECT_TRUE(lines.come("refused (full)"));
        server.reset();
    });
    CARILLON_EXPECT_ERROR((void)client.sealed_events(), OwnerGoneError, "has closed");
}

TEST_F(ReachingOwnersTest, serverWhosePathIsTakenCanBeOpenedAtAnother) {
    Server const first{path()};
    Server second;
    CARILLON_EXPECT_ERROR(second.open(path()), UsageError, "is taken");
    second.open(path() + "2");
    EXPECT_EQ(Connection(path() + "2").owner().name, "kernel");
}

template <class Call>
bool finds_no_folder(Call&& call) {
    try {
        (void)call();
    } catch (SystemError const& error) {
        return error.code() == ENOENT;
    }
    return false;
}

// Runs in a child, which may change its folder.
TEST_F(ReachingOwnersTest, relativePathIsASystemErrorWhereTheFolderWasRemoved) {
    std::filesystem::path const gone = folder() / "gone";
    std::filesystem::create_directory(gone);
    EXPECT_EQ(in_child([&] {
                  std::filesystem::current_path(gone);
                  std::filesystem::remove(gone);
                  Store const store(Device::open("emulated"));
                  return finds_no_folder([] { return Server("a.sock"); }) &&
                                 finds_no_folder([&] { return store.serve("a.sock"); }) &&
                                 finds_no_folder([] { return Connection("a.sock"); }) &&
                                 finds_no_folder([] { return Store("a.sock"); })
                             ? 0
                             : 1;
              }),
              0);
    CARILLON_EXPECT_ERROR(Store(""), UsageError, "is empty");
}

TEST_F(ReachingOwnersTest, serverThatWasNeverOpenedLeavesNothing) {
    Kernel const served = kernel();
    Server server;
    server.add("quotes", served);
    EXPECT_EQ(server.path(), "");
}

// A client may come back before its owner has seen that the former client has gone.
TEST_F(ReachingOwnersTest, clientThatWaitsGetsAPlaceThatBecomesFree) {
    Kernel const served = kernel();
    Server const server = served.serve(path(), quiet());
    Connection const before(path());
    std::unique_ptr<Channel<Ask, Told>> channel(
        new Channel<Ask, Told>(before.channel<Ask, Told>()));
    Connection const waits = wait();
    auto next = std::async(std::launch::async,
                           [&] { return waits.channel<Ask, Told>().call({2}, patience).twice; });
    CARILLON_EXPECT_ERROR((Connection(path()).channel<Ask, Told>()), RefusedError, "full");
    channel.reset();
    EXPECT_EQ(next.get(), 4U);
}

TEST_F(ReachingOwnersTest, clientThatWaitsGetsAConnectionThatBecomesFree) {
    Kernel const served = kernel();
    Server const server = served.serve(path(), quiet({.connections = 1}));
    std::optional<Connection> before(std::in_place, path());
    auto next = std::async(std::launch::async, [&] { return wait(); });
    CARILLON_EXPECT_ERROR(Connection(path()), RefusedError, "full");
    before.reset();
    EXPECT_EQ(next.get().owner().process, ::getpid());
}

// 1. The process that listens accepts nobody. 2. P serves at the same path, and accepts.
TEST_F(ReachingOwnersTest, clientThatWaitsPassesOverAnOwnerThatDoesNotAnswer) {
    std::optional<detail::UnixListener> silent(std::in_place, path(), 0600U);
    auto next = std::async(std::launch::async, [&] {
        return Connection(path(), {.timeout = 10ms, .wait_for_owner = patience});
    });
    CARILLON_EXPECT_ERROR(Connection(path(), {.timeout = 10ms}), TimeoutError, "within 10 ms");
    silent.reset();
    Kernel const served = kernel();
    Server const server = served.serve(path());
    EXPECT_EQ(next.get().owner().process, ::getpid());
}

// 1. The block is at the last request of a client that has gone. 2. C asks for the block again and
// again, and gives up each time. 3. The block is free.
TEST_F(ReachingOwnersTest, clientThatAsksAgainAsksForOneChannelAlone) {
    Gate gate;
    auto const served = kernel<HeldHandler>({}, {&gate});
    Server const server = served.serve(path(), quiet({.channels_per_connection = 1}));
    {
        Connection const before(path());
        auto channel = before.channel<Ask, Told>();
        (void)channel.submit({1}, patience);
        EXPECT_TRUE(eventually([&] { return gate.begun.load(); }));
    }
    Connection const client(path(), {.timeout = 500ms});
    for (int i = 0; i < 2; ++i) {
        EXPECT_THROW((void)(client.channel<Ask, Told>()), TimeoutError);
    }
    gate.open = true;
    EXPECT_TRUE(eventually([&] {
        try {
            return client.channel<Ask, Told>().call({2}, patience).twice == 4;
        } catch (TimeoutError const&) {
            return false;
        }
    }));
}

TEST_F(ReachingOwnersTest, clientOfAStoreWaitsForIt) {
    auto waits = std::async(std::launch::async, [&] { return wait<Store>(); });
    CARILLON_EXPECT_ERROR(Store(path(), {.wait_for_owner = 1ms}), SystemError, path());
    CARILLON_EXPECT_ERROR(Store(path(), {.wait_for_owner = -1ns}), UsageError,
                          "Store: wait_for_owner must be 0 or more, not");
    Store const store(device());
    Server const server = store.serve(path());
    EXPECT_EQ(waits.get().owner().process, ::getpid());
}

// 1. C is connected, and asks for a kernel and for the store that P has not added yet. 2. P has
// refused both, and adds them.
TEST_F(ReachingOwnersTest, clientThatWaitsGetsWhatIsAddedLater) {
    LoggedLines lines;
    Server server(path(), {.log = lines.log()});
    auto reply = std::async(std::launch::async, [waits = wait()] {
        return waits.channel<Ask, Told>("risk").call({2}, patience).twice;
    });
    auto buffer = std::async(std::launch::async,
                             [waits = wait()] { return waits.store().create("a", 8).size(); });
    EXPECT_TRUE(lines.come("there is no \"risk\""));
    EXPECT_TRUE(lines.come("the owner serves no store of buffers"));
    CARILLON_EXPECT_ERROR((Connection(path()).channel<Ask, Told>("risk")), RefusedError,
                          "there is no \"risk\"");
    Kernel const risk = kernel();
    server.add("risk", risk);
    Store const store(device());
    server.add(store);
    EXPECT_EQ(reply.get(), 4U);
    EXPECT_EQ(buffer.get(), 8U);
}

// Another program removes P's files, as one that clears /tmp does: P logs a line for each.
TEST_F(ReachingOwnersTest, ownerHasALineWhereItsFilesAreRemoved) {
    LoggedLines lines;
    Kernel const served = kernel();
    Server const server = served.serve(path(), {.log = lines.log()});
    Store const store(device());
    Server const stores = store.serve(path() + "s", {.log = lines.log()});
    std::filesystem::remove(path() + ".lock");
    EXPECT_TRUE(lines.come("kernel.sock: its lock was removed"));
    std::filesystem::remove(path() + "s");
    EXPECT_TRUE(lines.come("kernel.socks: its socket was removed"));
    EXPECT_EQ(lines.now().size(), 2U);
}

}  // namespace
}  // namespace carillon::test

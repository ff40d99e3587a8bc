// SPDX-License-Identifier: Apache-2.0
// What processes do beside messages: they fork, start others, and exit with all that they have. P
// is the owner's process, C the client's.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using ProcessesTest = WithDevice<>;

TEST_F(ProcessesTest, clientThatEndsBesideAChildOfItsOwnHasGone) {
    auto const owned = kernel({.blocks = 1});
    Server const server = owned.serve(path());
    // 1. C attaches, and forks a child, which has C's socket too.
    Process client = attached({"fork-and-end", path()});
    // 2. C ends, its child does not. 3. Its block is another's.
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
    Process next = attached({"call", path(), "10"});
    EXPECT_EQ(next.line(), "first 1");
    EXPECT_EQ(next.status(), 0);
}

TEST_F(ProcessesTest, ownerThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P serves, and forks a child. 2. C attaches.
    Process owner = serving({"own", path(), "1", "fork"});
    Connection const connection = connect();
    auto channel = connection.channel<Ask, Told>();
    EXPECT_EQ(channel.call({1}, patience).twice, 2U);
    // 3. P is killed, its child lives. 4. C, which has attached, hears of it, and so does a new
    // client.
    EXPECT_TRUE(owner.kill());
    CARILLON_EXPECT_ERROR(channel.call({1}, patience), OwnerGoneError, "Client::call: the owner");
    CARILLON_EXPECT_ERROR(connect(), SystemError, "nobody listens there");
    // 5. Another serves there while the child lives.
    Process next = serving({"own", path(), "1"});
    EXPECT_EQ(connect().owner().process, next.pid());
}

TEST_F(ProcessesTest, exitWithAllOfItAliveIsOneInOrder) {
    for (unsigned i = 0; i < 5; ++i) {
        Process process({"exit-with-all", path()});
        EXPECT_EQ(process.line(), "exits");
        EXPECT_EQ(process.status(), 0);
        EXPECT_FALSE(std::filesystem::exists(path()));
    }
}

std::set<int> descriptors() {
    std::set<int> all;
    for (auto const& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        all.insert(std::stoi(each.path().filename()));
    }
    return all;
}

TEST_F(ProcessesTest, noDescriptorGoesToAProgramThatIsStarted) {
    std::set<int> const before = descriptors();
    auto const owned = kernel({.blocks = 2});
    Server const server = owned.serve(path());
    Connection const owner = connect();
    auto channel = owner.channel<Ask, Told>();
    unsigned looked_at = 0;
    for (int const fd : descriptors()) {
        int const flags = ::fcntl(fd, F_GETFD);
        if (before.contains(fd) || flags < 0) continue;
        EXPECT_NE(flags & FD_CLOEXEC, 0) << fd;
        ++looked_at;
    }
    EXPECT_GT(looked_at, 8U);
}

TEST_F(ProcessesTest, childOfAClientThatIsBeingAskedLetsItsChannelGo) {
    auto owned = kernel({.blocks = 1});
    Server const server = owned.serve(path());
    auto const session = session_at(path());
    auto const leased = lease_of(*session);
    // 1. P drains; C's thread is asked whether all is answered, and is at that.
    std::atomic<bool> asked = false;
    std::atomic<bool> go_on = false;
    auto const answered = [&] {
        asked = true;
        return eventually([&] { return go_on.load(); });
    };
    using Answered = decltype(answered);
    leased.lease->ask([](void const* of) { return (*static_cast<Answered*>(of))(); }, &answered);
    EXPECT_THROW(owned.drain({}), TimeoutError);
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
    // 2. C forks. The child does not wait for threads that it does not have.
    EXPECT_EQ(in_child([&] {
                  leased.lease->ask(nullptr, nullptr);
                  return 0;
              }),
              0);
    go_on = true;
    EXPECT_NO_THROW(owned.drain(patience));
    leased.lease->ask(nullptr, nullptr);
}

}  // namespace
}  // namespace carillon::test

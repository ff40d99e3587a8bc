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
#include "ipc/ipc_handlers.hpp"
#include "ipc/peer_process.hpp"
#include "serving/client_session.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using Kernel = PersistentKernel<CountingHandler, SharedChannels>;

Kernel kernel_of(unsigned blocks) {
    return Kernel(Device::open("emulated"), {.blocks = blocks, .idle = IdlePolicy::park()});
}

TEST(ProcessesTest, clientThatEndsBesideAChildOfItsOwnHasGone) {
    SocketPath const path;
    auto const kernel = kernel_of(1);
    Server const server = kernel.serve(path.get());
    // 1. C attaches, and forks a child, which has C's socket too.
    Process client({"fork-and-end", path.get()});
    EXPECT_EQ(client.line(), "attached");
    // 2. C ends, its child does not. 3. Its block is another's.
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
    Process next({"call", path.get(), "10"});
    EXPECT_EQ(next.line(), "attached");
    EXPECT_EQ(next.line(), "first 1");
    EXPECT_EQ(next.status(), 0);
}

TEST(ProcessesTest, ownerThatEndsBesideAChildOfItsOwnHasGone) {
    SocketPath const path;
    // 1. P serves, and forks a child. 2. C attaches.
    Process owner({"own", path.get(), "1", "fork"});
    EXPECT_EQ(owner.line(), "serving");
    Connection const connection(path.get(), {.timeout = patience});
    auto channel = connection.channel<Ask, Told>();
    EXPECT_EQ(channel.call({1}, patience).twice, 2U);
    // 3. P is killed, its child lives. 4. C, which has attached, hears of it, and so does a new
    // client.
    EXPECT_TRUE(owner.kill());
    CARILLON_EXPECT_ERROR(channel.call({1}, patience), OwnerGoneError, "Client::call: the owner");
    CARILLON_EXPECT_ERROR(Connection(path.get(), {.timeout = patience}), SystemError,
                          "nobody listens there");
    // 5. Another serves there while the child lives.
    Process next({"own", path.get(), "1"});
    EXPECT_EQ(next.line(), "serving");
    EXPECT_EQ(Connection(path.get(), {.timeout = patience}).owner().process, next.pid());
}

TEST(ProcessesTest, exitWithAllOfItAliveIsOneInOrder) {
    for (unsigned i = 0; i < 5; ++i) {
        SocketPath const path;
        Process process({"exit-with-all", path.get()});
        EXPECT_EQ(process.line(), "exits");
        EXPECT_EQ(process.status(), 0);
        EXPECT_FALSE(std::filesystem::exists(path.get()));
    }
}

std::set<int> descriptors() {
    std::set<int> all;
    for (auto const& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        all.insert(std::stoi(each.path().filename()));
    }
    return all;
}

TEST(ProcessesTest, noDescriptorGoesToAProgramThatIsStarted) {
    std::set<int> const before = descriptors();
    SocketPath const path;
    auto const kernel = kernel_of(2);
    Server const server = kernel.serve(path.get());
    Connection const owner(path.get(), {.timeout = patience});
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

TEST(ProcessesTest, childOfAClientThatIsBeingAskedLetsItsChannelGo) {
    SocketPath const path;
    auto kernel = kernel_of(1);
    Server const server = kernel.serve(path.get());
    auto const session = detail::make_shared_own<detail::ClientSession>(
        detail::Link::connect(path.get(), {.timeout = patience}));
    auto const leased =
        session->attach("kernel", detail::MessageTypes::of<detail::OneRequest<Ask, Told>>());
    // 1. P drains; C's thread is asked whether all is answered, and is at that.
    std::atomic<bool> asked = false;
    std::atomic<bool> go_on = false;
    auto const answered = [&] {
        asked = true;
        return eventually([&] { return go_on.load(); });
    };
    using Answered = decltype(answered);
    leased.lease->ask([](void const* of) { return (*static_cast<Answered*>(of))(); }, &answered);
    EXPECT_THROW(kernel.drain({}), TimeoutError);
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
    // 2. C forks. The child does not wait for threads that it does not have.
    EXPECT_EQ(in_child([&] {
                  leased.lease->ask(nullptr, nullptr);
                  return 0;
              }),
              0);
    go_on = true;
    EXPECT_NO_THROW(kernel.drain(patience));
    leased.lease->ask(nullptr, nullptr);
}

}  // namespace
}  // namespace carillon::test

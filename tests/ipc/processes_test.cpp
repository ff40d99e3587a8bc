// SPDX-License-Identifier: Apache-2.0
// What processes do beside messages: they fork, start others, and exit with all that they have. P
// is the owner's process, C the client's.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using ProcessesTest = WithDevice<>;

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

// SPDX-License-Identifier: Apache-2.0
// One side learns of the other side's end, although a child of that process has its sockets, and
// although the two may be in different pid namespaces. P is the owner, C a client.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "os/unix_socket.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

// Whether this system has SO_PEERPIDFD, which tests of two namespaces need.
bool tells_the_end_of_any_peer() {
    SocketPath const path;
    detail::UnixListener const listener(path.get(), 0600);
    auto const socket = detail::connect_unix(path.get(), patience);
    int found = -1;
    ::socklen_t size = sizeof(found);
    constexpr int so_peerpidfd = 77;
    bool const has = ::getsockopt(socket.fd(), SOL_SOCKET, so_peerpidfd, &found, &size) == 0;
    FileDescriptor const close(found);
    return has;
}

// Whether one side is in a pid namespace of its own, where the other side's process has no number.
class NamespacesTest : public AtPath<testing::TestWithParam<bool>> {
   protected:
    void SetUp() override {
        if (GetParam() && !tells_the_end_of_any_peer()) {
            GTEST_SKIP() << "no SO_PEERPIDFD (Linux 6.5)";
        }
    }
    // The arguments of a process that may be in a namespace of its own.
    [[nodiscard]] static std::vector<std::string> apart(std::vector<std::string> arguments) {
        if (GetParam()) arguments.insert(arguments.begin(), "contained");
        return arguments;
    }
};
INSTANTIATE_TEST_SUITE_P(In, NamespacesTest, testing::Bool(),
                         [](auto const& tested) { return tested.param ? "two" : "one"; });

#define CARILLON_SKIP_WITHOUT_NAMESPACES(line) \
    if ((line) == "no namespace") GTEST_SKIP() << "this process may make no namespace"

TEST_P(NamespacesTest, clientThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P serves one block.
    Process owner(apart({"own", path(), "1"}));
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "serving");
    // 2. C attaches, forks a child, which has C's socket too, and ends; its child does not.
    Process client = attached({"fork-and-end", path()});
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    // 3. Its block is another's.
    EXPECT_TRUE(
        eventually([&] { return connect().status().objects.at(0).blocks.at(0).client.empty(); }));
    Process next = attached({"call", path(), "10"});
    EXPECT_EQ(next.line(), "first 1");
    EXPECT_EQ(next.status(), 0);
}

TEST_P(NamespacesTest, ownerThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P serves, and forks a child, which has P's sockets too. 2. C attaches.
    Process owner = serving({"own", path(), "1", "fork"});
    Process client(apart({"ask-twice", path()}));
    std::string const line = client.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "attached");
    // 3. P is killed, its child lives. 4. C hears of it, and so does a new client.
    EXPECT_TRUE(owner.kill());
    client.tell("go on");
    EXPECT_EQ(client.line().find("owner gone: Client::call: the owner"), 0U);
    EXPECT_EQ(client.status(), 0);
    CARILLON_EXPECT_ERROR(connect(), SystemError, "no process listens there");
    // 5. Another serves there while the child lives.
    Process const next = serving({"own", path(), "1"});
    EXPECT_EQ(connect().owner().process, next.pid());
}

TEST_P(NamespacesTest, storesClientThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P has a store.
    Process owner(apart({"store-own", path()}));
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "serving");
    // 2. C creates a buffer, forks a child, which has C's socket too, and ends.
    Process client = started({"store-fork-and-end", path()}, "created");
    auto const store = connect<Store>();
    EXPECT_EQ(store.list().size(), 1U);
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    // 3. The buffer that C had not sealed has gone.
    EXPECT_TRUE(eventually([&] { return store.list().empty(); }));
}

using UserNamespacesTest = AtPath<>;

// The owner's user has no name in its user namespace, and neither has the client's: they need not
// be the same.
TEST_F(UserNamespacesTest, ownerTakesNobodyForItsOwnUserWhomItHasNoNameFor) {
    Process owner({"own-nameless", path()});
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    try {
        Connection const connection = connect();
        ADD_FAILURE() << "it was let in";
    } catch (RefusedError const& error) {
        EXPECT_EQ(error.reason(), RefusalReason::not_allowed) << error.what();
    }
}

TEST_F(UserNamespacesTest, clientTakesNobodysOwnerForItsOwnWhomItHasNoNameFor) {
    Server const server(path());
    Process client({"reach-nameless", path()});
    std::string const line = client.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "wrong owner");
    EXPECT_EQ(client.line(), "wrong owner");
}

}  // namespace
}  // namespace carillon::test

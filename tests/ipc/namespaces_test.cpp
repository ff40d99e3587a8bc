// SPDX-License-Identifier: Apache-2.0
// One side is in another pid namespace, where the other side's process has no number. It still
// learns of that process's end, although a child of that process has its sockets. P is the owner, C
// a client.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "os/unix_listener.hpp"
#include "support/eventually.hpp"

namespace carillon::test {
namespace {

// Whether this system has SO_PEERPIDFD, which the tests need.
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

class NamespacesTest : public AtPath<> {
   protected:
    void SetUp() override {
        if (!tells_the_end_of_any_peer()) GTEST_SKIP() << "no SO_PEERPIDFD (Linux 6.5)";
    }
};

#define CARILLON_SKIP_WITHOUT_NAMESPACES(line) \
    if ((line) == "no namespace") GTEST_SKIP() << "this process may make no namespace"

TEST_F(NamespacesTest, clientThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P serves one block in a namespace of its own.
    Process owner({"contained", "own", path(), "1"});
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "serving");
    // 2. C attaches, forks a child, which has C's socket too, and ends.
    Process client = attached({"fork-and-end", path()});
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    // 3. Its block is another's.
    Process next = attached({"call", path(), "10"});
    EXPECT_EQ(next.line(), "first 1");
    EXPECT_EQ(next.status(), 0);
}

TEST_F(NamespacesTest, ownerThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P serves, and forks a child, which has P's sockets too.
    Process owner = serving({"own", path(), "1", "fork"});
    // 2. C attaches in a namespace of its own.
    Process client({"contained", "ask-twice", path()});
    std::string const line = client.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "attached");
    // 3. P is killed, its child lives. 4. C hears of it.
    EXPECT_TRUE(owner.kill());
    client.tell("go on");
    EXPECT_NE(client.line().find("owner gone: "), std::string::npos);
    EXPECT_EQ(client.status(), 0);
}

TEST_F(NamespacesTest, storesClientThatEndsBesideAChildOfItsOwnHasGone) {
    // 1. P has a store in a namespace of its own.
    Process owner({"contained", "store-own", path()});
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    // 2. C creates a buffer, forks a child, which has C's socket too, and ends.
    Process client({"store-fork-and-end", path()});
    EXPECT_EQ(client.line(), "created");
    Store const store = connect<Store>();
    EXPECT_EQ(store.list().size(), 1U);
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    // 3. The buffer that C had not sealed has gone.
    EXPECT_TRUE(eventually([&] { return store.list().empty(); }));
}

// The owner's user has no name in its user namespace, and neither has the client's: they need not
// be the same.
TEST(UserNamespacesTest, ownerTakesNobodyForItsOwnUserWhomItHasNoNameFor) {
    SocketPath const path;
    Process owner({"own-nameless", path.get()});
    std::string const line = owner.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    try {
        Connection const connection(path.get(), {.timeout = patience});
        ADD_FAILURE() << "it was let in";
    } catch (RefusedError const& error) {
        EXPECT_EQ(error.reason(), RefusalReason::not_allowed) << error.what();
    }
}

TEST(UserNamespacesTest, clientTakesNobodysOwnerForItsOwnWhomItHasNoNameFor) {
    SocketPath const path;
    Server const server(path.get());
    Process client({"reach-nameless", path.get()});
    std::string const line = client.line();
    CARILLON_SKIP_WITHOUT_NAMESPACES(line);
    EXPECT_EQ(line, "wrong owner");
    EXPECT_EQ(client.line(), "wrong owner");
}

}  // namespace
}  // namespace carillon::test

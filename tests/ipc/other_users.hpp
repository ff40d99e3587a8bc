// SPDX-License-Identifier: Apache-2.0
// Actions as other users, for tests that run as root.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "carillon/carillon.hpp"
#include "ipc/ipc_handlers.hpp"
#include "ipc/peer_process.hpp"

namespace carillon::test {

inline constexpr unsigned owners_user = 1000;  // of an owner that is another process
inline constexpr unsigned a_user = 2000;
inline constexpr unsigned another_user = 2001;

// Owners that this thread connects to meanwhile see it as that user. seteuid() would change the
// user of all threads of the process.
class SeenAs {
   public:
    explicit SeenAs(uid_t user) { become(user); }
    ~SeenAs() { become(0); }
    SeenAs(SeenAs const&) = delete;
    SeenAs& operator=(SeenAs const&) = delete;

   private:
    static void become(uid_t user) { EXPECT_EQ(::syscall(SYS_setresuid, -1, user, -1), 0); }
};

// A path at which every user may listen, and to which every user may connect.
class OpenSocketPath : public SocketPath {
   public:
    OpenSocketPath() { std::filesystem::permissions(folder(), std::filesystem::perms::all); }
};

// A pointer, since a Channel can be neither copied nor moved.
using AnyChannel = std::unique_ptr<Channel<Ask, Told>>;
inline AnyChannel attach_to(Connection const& connection) {
    return AnyChannel(new Channel<Ask, Told>(connection.channel<Ask, Told>()));
}

#define CARILLON_SKIP_UNLESS_ROOT() \
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be seen as another user"

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// No descriptor is left, on either side: the error says so, nothing is lost, and all goes on when
// there are some again. P is the owner, in a process of its own; C is a client, in this one.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include "carillon/carillon.hpp"
#include "carillon/detail/wire/config.hpp"
#include "ipc/fixtures.hpp"
#include "support/descriptors_left.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class DescriptorsTest : public AtPath<> {
   protected:
    void SetUp() override {
        if (CARILLON_ADDRESS_SANITIZER != 0) {
            GTEST_SKIP()
                << "the sanitizer takes an object that it has no descriptor to look at for none";
        }
    }
    [[nodiscard]] pid_t owner() const { return owner_.pid(); }
    [[nodiscard]] auto owner_holds() const {
        auto const folder = "/proc/" + std::to_string(owner()) + "/fd";
        return std::distance(std::filesystem::directory_iterator(folder), {});
    }

   private:
    Process owner_ = serving({"own", path(), "2"});
};

TEST_F(DescriptorsTest, clientHasNoneForAChannelsMemory) {
    Connection const connection = connect();
    auto first = connection.channel<Ask, Told>();
    Held const before = Held::now();
    for (unsigned left = 0; left < 2; ++left) {
        DescriptorsLeft const few(::getpid(), left);
        CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), SystemError,
                              "Too many open files");
    }
    // Neither the connection nor its channels have suffered, and no block is lost.
    EXPECT_EQ(first.call({1}, patience).twice, 2U);
    EXPECT_EQ(Held::now(), before);
    auto second = connection.channel<Ask, Told>();
    EXPECT_EQ(second.call({2}, patience).twice, 4U);
}

TEST_F(DescriptorsTest, clientHasNoneToConnect) {
    unsigned left = 0;
    Held const before = Held::now();
    for (std::optional<Connection> connection; !connection; ++left) {
        ASSERT_LT(left, 10U);
        DescriptorsLeft const few(::getpid(), left);
        try {
            connection.emplace(connect());
        } catch (SystemError const& error) {
            EXPECT_EQ(error.code(), EMFILE) << error.what();
        }
    }
    EXPECT_GT(left, 2U);
    EXPECT_EQ(Held::now(), before);
}

TEST_F(DescriptorsTest, ownerHasNoneForANewClient) {
    Connection const first = connect();
    auto channel = first.channel<Ask, Told>();
    Connection const later = connect();  // P has closed what it sent by now
    auto const held = owner_holds();
    {
        DescriptorsLeft const none(owner(), 0);
        CARILLON_EXPECT_ERROR(connect({.timeout = 50ms}), TimeoutError, "not answered");
        EXPECT_EQ(channel.call({1}, patience).twice, 2U);
    }
    // A client that has given up still stands in the queue before this one.
    EXPECT_NE(connect().owner().process, 0);
    ASSERT_TRUE(eventually([&] { return owner_holds() == held; }));
    {  // Enough for the socket, and not to learn of the process's end.
        DescriptorsLeft const one(owner(), 1);
        CARILLON_EXPECT_ERROR(connect(), RefusedError, "refused (full)");
    }
    auto second = connect().channel<Ask, Told>();
    EXPECT_EQ(second.call({2}, patience).twice, 4U);
}

// 1. Neither side can open a descriptor. 2. The call that needs one says so. 3. All goes on.
TEST_F(DescriptorsTest, neitherSideOfAStoreHasOneForABuffer) {
    SocketPath const path;
    Process const owner = serving({"store-own", path.get()});
    Store const store(path.get(), {.timeout = patience});
    Buffer const before = store.create("before", 100).seal();
    Held const held = Held::now();
    {
        DescriptorsLeft const none(::getpid(), 0);
        CARILLON_EXPECT_ERROR((void)store.get("before"), SystemError, "Too many open files");
        CARILLON_EXPECT_ERROR((void)store.create("", 100), SystemError, "Too many open files");
    }
    EXPECT_EQ(store.list().size(), 1U);  // P has closed what it sent by now
    {
        DescriptorsLeft const none(owner.pid(), 0);
        CARILLON_EXPECT_ERROR((void)store.get("before"), RefusedError, "refused (full)");
        CARILLON_EXPECT_ERROR((void)store.create("", 100), RefusedError, "RLIMIT_NOFILE");
    }
    EXPECT_EQ(Held::now(), held);
    auto const all = store.list();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().holders, 1U);
    EXPECT_EQ(store.get("before").size(), 100U);
}

TEST_F(DescriptorsTest, ownerHasNoneForAChannelsMemory) {
    Connection const connection = connect();
    for (unsigned left = 0; left < 2; ++left) {
        DescriptorsLeft const few(owner(), left);
        for (unsigned i = 0; i < 4; ++i) {
            CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), RefusedError,
                                  "refused (full)");
        }
    }
    auto first = connection.channel<Ask, Told>();
    auto second = connection.channel<Ask, Told>();
    EXPECT_EQ(first.call({1}, patience).twice, 2U);
    EXPECT_EQ(second.call({2}, patience).twice, 4U);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// One user takes all that it may, and leaves something for others and for the owner's user. P is
// the owner, in this process; C are clients, seen as other users.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/ipc_handlers.hpp"
#include "ipc/other_users.hpp"
#include "ipc/stranger.hpp"
#include "os/unix_socket.hpp"
#include "support/descriptors_left.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class LimitsOfUsersTest : public testing::Test {
   protected:
    void SetUp() override { CARILLON_SKIP_UNLESS_ROOT(); }
    [[nodiscard]] std::string path() const { return path_.get(); }
    [[nodiscard]] Device const& device() const { return device_; }

   private:
    OpenSocketPath path_;
    Device device_ = Device::open("emulated");
};

void quiet(std::string const& /*line*/) {}

class LimitsOfClientsTest : public LimitsOfUsersTest {
   protected:
    static constexpr unsigned blocks = 4;

    void serve(ServeOptions options) {
        options.mode = 0666;
        if (!options.log) options.log = &quiet;
        server_.emplace(kernel_.serve(path(), options));
    }
    void close() { server_.reset(); }
    [[nodiscard]] Connection connect(uid_t user) const {
        SeenAs const seen(user);
        return Connection(path(), {.timeout = patience});
    }
    // Connects until it is refused, at most so many times.
    [[nodiscard]] std::vector<Connection> connect_many(uid_t user, unsigned most) const {
        std::vector<Connection> all;
        try {
            while (all.size() < most) all.push_back(connect(user));
        } catch (RefusedError const& error) {
            EXPECT_EQ(error.reason(), RefusalReason::full) << error.what();
        }
        return all;
    }
    // Takes as many channels by one connection as it may have.
    [[nodiscard]] static std::vector<AnyChannel> attach_many(Connection const& connection) {
        std::vector<AnyChannel> all;
        try {
            while (all.size() < 2 * blocks) all.push_back(attach_to(connection));
        } catch (RefusedError const& error) {
            why_no_more() = error.what();
        }
        return all;
    }
    [[nodiscard]] static std::string& why_no_more() {
        static std::string why;
        return why;
    }

   private:
    PersistentKernel<CountingHandler, SharedChannels> kernel_{
        device(), {.blocks = blocks, .idle = IdlePolicy::park()}};
    std::optional<Server> server_;
};

TEST_F(LimitsOfClientsTest, oneUserHasHalfOfTheConnectionsAndSomeAreKeptForTheOwners) {
    serve({.connections = 16});
    auto const of_one = connect_many(a_user, 16);
    EXPECT_EQ(of_one.size(), 8U);
    auto const of_another = connect_many(another_user, 16);
    EXPECT_EQ(of_another.size(), 4U);
    auto const of_owner = connect_many(0, 17);
    EXPECT_EQ(of_owner.size(), 4U);
}

// A user's own silent connections give way, and for the owner's user anybody's.
TEST_F(LimitsOfClientsTest, silentConnectionsGiveUpTheirPlaces) {
    std::atomic<unsigned> dropped = 0;
    serve({.connections = 4, .log = [&](std::string const& line) {
               if (line.find("its place is wanted") != std::string::npos) ++dropped;
           }});
    std::vector<detail::UnixSocket> silent;
    for (uid_t const user : {a_user, a_user, uid_t{0}, uid_t{0}}) {
        SeenAs const seen(user);
        silent.push_back(detail::connect_unix(path(), patience));
    }
    // Waits between attempts: the log has few lines about the refusals of one user.
    auto const gets_in = [&](uid_t user, std::optional<Connection>& connection) {
        std::this_thread::sleep_for(300ms);
        try {
            connection.emplace(connect(user));
            return true;
        } catch (RefusedError const&) {
            return false;
        }
    };
    std::optional<Connection> own;
    EXPECT_TRUE(eventually([&] { return gets_in(a_user, own); }));
    std::optional<Connection> owners;
    EXPECT_TRUE(eventually([&] { return gets_in(0, owners); }));
    EXPECT_TRUE(eventually([&] { return dropped == 2; }));
    close();
}

TEST_F(LimitsOfClientsTest, limitOfAUsersConnectionsMayTakeThoseThatAreKept) {
    serve({.connections = 16, .connections_per_user = 15});
    EXPECT_EQ(connect_many(a_user, 16).size(), 15U);
}

TEST_F(LimitsOfClientsTest, blocksAreKeptForTheOwnersUser) {
    serve({});
    Connection const stranger = connect(a_user);
    auto const taken = attach_many(stranger);
    EXPECT_EQ(taken.size(), 3U);
    EXPECT_NE(why_no_more().find("other users have 3 of 4 places"), std::string::npos)
        << why_no_more();
    EXPECT_EQ(attach_to(connect(0))->call({1}, patience).twice, 2U);
}

TEST_F(LimitsOfClientsTest, limitOfAUsersChannelsCountsAllOfItsConnections) {
    serve({.channels_per_user = 2});
    Connection const one = connect(a_user);
    Connection const other = connect(a_user);
    auto const first = one.channel<Ask, Told>();
    auto const second = attach_many(other);
    EXPECT_EQ(second.size(), 1U);
    EXPECT_NE(why_no_more().find("ServeOptions::channels_per_user is 2"), std::string::npos)
        << why_no_more();
    EXPECT_EQ(attach_many(connect(another_user)).size(), 1U) << "three of four are for others";
}

TEST_F(LimitsOfClientsTest, limitsOfAUsersBytesAndDescriptorsCountAllOfItsConnections) {
    serve({.descriptors_per_user = 2});
    Connection const one = connect(a_user);
    auto const first = one.channel<Ask, Told>();
    CARILLON_EXPECT_ERROR((connect(a_user).channel<Ask, Told>()), RefusedError,
                          "descriptors_per_user is 2");
}

// The process keeps some of its descriptors, whatever has used up the others.
TEST_F(LimitsOfClientsTest, descriptorsAreKeptForConnectionsOfTheOwners) {
    serve({});
    DescriptorsOpen const most(128, 96);
    EXPECT_TRUE(connect_many(a_user, 1).empty());
    EXPECT_EQ(attach_to(connect(0))->call({1}, patience).twice, 2U);
}

class LimitsOfBuffersTest : public LimitsOfUsersTest {
   protected:
    static constexpr std::size_t bytes_of_one = 1U << 16U;

    void serve(StoreOptions const& options) {
        store_.emplace(device(), options);
        server_.emplace(
            store_->serve(path(), {.mode = 0666, .buffers_per_connection = 1000, .log = &quiet}));
    }
    [[nodiscard]] Store connect(uid_t user) const {
        SeenAs const seen(user);
        return Store(path(), {.timeout = patience});
    }
    // Makes and seals small buffers, which stay when it releases them. Returns how many.
    static unsigned seal_many(Store const& connection, std::string& why) {
        for (unsigned made = 0; made < 1000; ++made) {
            try {
                (void)connection.create("", 1).seal();
            } catch (RefusedError const& error) {
                EXPECT_EQ(error.reason(), RefusalReason::full) << error.what();
                why = error.what();
                return made;
            }
        }
        return 1000;
    }

   private:
    std::optional<Store> store_;
    std::optional<Server> server_;
};

TEST_F(LimitsOfBuffersTest, oneUserHasHalfOfTheBytesAndSomeAreKeptForTheStores) {
    serve({.bytes = 16 * bytes_of_one});
    std::string why;
    EXPECT_EQ(seal_many(connect(a_user), why), 8U);
    EXPECT_EQ(seal_many(connect(another_user), why), 4U);
    EXPECT_NE(why.find("kept for the store's user"), std::string::npos) << why;
    EXPECT_EQ(seal_many(connect(0), why), 4U);
}

TEST_F(LimitsOfBuffersTest, oneUserHasHalfOfTheBuffers) {
    serve({.buffers = 16});
    std::string why;
    EXPECT_EQ(seal_many(connect(a_user), why), 8U);
    EXPECT_EQ(seal_many(connect(0), why), 8U);
}

// Each buffer takes a descriptor of the store's process, and connections need some too.
TEST_F(LimitsOfBuffersTest, smallBuffersLeaveDescriptorsForConnectionsAndForOthers) {
    serve({});
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    ::rlimit const few{128, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::string why;
    EXPECT_EQ(seal_many(connect(a_user), why), 32U);
    EXPECT_EQ(seal_many(connect(another_user), why), 16U);
    EXPECT_EQ(seal_many(connect(0), why), 16U);
    EXPECT_NE(why.find("RLIMIT_NOFILE"), std::string::npos) << why;
    EXPECT_EQ(connect(0).list().size(), 64U);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(LimitsOfBuffersTest, descriptorsAreKeptForBuffersOfTheStoresUserAndForConnections) {
    serve({});
    Store const strangers = connect(a_user);
    Store const own = connect(0);
    std::string why;
    {
        DescriptorsOpen const most(128, 96);
        EXPECT_EQ(seal_many(strangers, why), 0U);
        EXPECT_NE(why.find("kept for the store's user"), std::string::npos) << why;
        (void)own.create("", 1).seal();
    }
    DescriptorsOpen const nearly_all(128, 112);
    EXPECT_EQ(seal_many(own, why), 0U);
    EXPECT_NE(why.find("kept for connections"), std::string::npos) << why;
    EXPECT_EQ(connect(0).list().size(), 1U);
}

}  // namespace
}  // namespace carillon::test

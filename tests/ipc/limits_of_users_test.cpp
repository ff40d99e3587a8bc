// SPDX-License-Identifier: Apache-2.0
// One user takes all that it may, and leaves something for others and for the owner's user. P is
// the owner, in this process; C are clients, seen as other users.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/other_users.hpp"
#include "os/unix_socket.hpp"
#include "support/descriptors_left.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

// P serves a kernel and a store.
class LimitsOfUsersTest : public AtPath<testing::Test, Connection, OpenSocketPath> {
   protected:
    static constexpr unsigned blocks = 4;
    static constexpr std::size_t bytes_of_one = 1U << 16U;

    void SetUp() override { CARILLON_SKIP_UNLESS_ROOT(); }
    void serve(ServeOptions options, StoreOptions const& buffers = {}) {
        options.mode = 0666;
        options.buffers_per_connection = 1000;
        store_.emplace(device_, buffers);
        server_.emplace(kernel_.serve(path(), quiet(options)));
        server_->add(*store_);
    }
    void close() { server_.reset(); }
    template <class Owner = Connection>
    [[nodiscard]] Owner connect(uid_t user) const {
        SeenAs const seen(user);
        return AtPath::connect<Owner>();
    }
    // Takes what `take` takes until it is refused, at most 1000 times. Returns how often it was
    // not. `of_client`: the owner may refuse it for this client alone.
    template <class Take>
    unsigned take_all(Take const& take, bool of_client = false) {
        for (unsigned taken = 0; taken < 1000; ++taken) {
            try {
                take();
            } catch (RefusedError const& error) {
                why_no_more_ = error.what();
                EXPECT_TRUE(error.reason() == RefusalReason::full ||
                            (of_client && error.reason() == RefusalReason::too_many_of_client))
                    << error.what();
                return taken;
            }
        }
        return 1000;
    }
    // Keeps connections until the next is refused.
    unsigned connect_all(uid_t user) {
        return take_all([&] { connections_.push_back(connect(user)); });
    }
    // Keeps channels of one connection.
    unsigned attach_all(Connection const& connection) {
        return take_all([&] { channels_.push_back(attach_to(connection)); }, true);
    }
    // Makes and seals small buffers, which stay when it releases them.
    unsigned seal_all(Store const& store) {
        return take_all([&] { (void)store.create("", 1).seal(); });
    }
    void expect_why(std::string_view text) const {
        EXPECT_NE(why_no_more_.find(text), std::string::npos) << why_no_more_;
    }
    // One user has half of `all`, and a quarter is kept for the owner's user. `take` takes all that
    // a user may have.
    template <class Take>
    void expect_shares(unsigned all, Take const& take) {
        EXPECT_EQ(take(a_user), all / 2);
        EXPECT_EQ(take(another_user), all / 4);
        expect_why("reserved for the ");
        EXPECT_EQ(take(0), all / 4);
    }
    void expect_shares_of_buffers(unsigned all) {
        expect_shares(all, [&](uid_t user) { return seal_all(connect<Store>(user)); });
    }

   private:
    Device device_ = Device::open("emulated");
    PersistentKernel<CountingHandler, SharedChannels> kernel_{
        device_, {.blocks = blocks, .idle = IdlePolicy::park()}};
    std::optional<Store> store_;
    std::optional<Server> server_;
    std::vector<Connection> connections_;
    std::vector<AnyChannel> channels_;
    std::string why_no_more_;
};

TEST_F(LimitsOfUsersTest, oneUserHasHalfOfTheConnectionsAndSomeAreKeptForTheOwners) {
    serve({.connections = 16});
    expect_shares(16, [&](uid_t user) { return connect_all(user); });
}

TEST_F(LimitsOfUsersTest, oneUserHasHalfOfTheBytesAndSomeAreKeptForTheOwners) {
    serve({}, {.bytes = 16 * bytes_of_one});
    expect_shares_of_buffers(16);
}

TEST_F(LimitsOfUsersTest, oneUserHasHalfOfTheBuffersAndSomeAreKeptForTheOwners) {
    serve({}, {.buffers = 16});
    expect_shares_of_buffers(16);
}

// Each buffer takes a descriptor of the store's process, and connections need some too.
TEST_F(LimitsOfUsersTest, smallBuffersLeaveDescriptorsForConnectionsAndForOthers) {
    serve({});
    DescriptorsOpen const few(128, 0);
    expect_shares_of_buffers(64);
    expect_why("RLIMIT_NOFILE");
    EXPECT_EQ(connect<Store>(0).list().size(), 64U);
}

// A user's own silent connections give way, and for the owner's user anybody's.
TEST_F(LimitsOfUsersTest, silentConnectionsGiveUpTheirPlaces) {
    std::atomic<unsigned> dropped = 0;
    serve({.connections = 4, .log = [&](std::string const& line) {
               if (line.find("another client needs its place") != std::string::npos) ++dropped;
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

TEST_F(LimitsOfUsersTest, limitOfAUsersConnectionsMayTakeThoseThatAreKept) {
    serve({.connections = 16, .connections_per_user = 15});
    EXPECT_EQ(connect_all(a_user), 15U);
}

TEST_F(LimitsOfUsersTest, blocksAreKeptForTheOwnersUser) {
    serve({});
    Connection const stranger = connect(a_user);
    EXPECT_EQ(attach_all(stranger), 3U);
    expect_why("other users have 3 of 4 places");
    EXPECT_EQ(attach_to(connect(0))->call({1}, patience).twice, 2U);
}

TEST_F(LimitsOfUsersTest, limitOfAUsersChannelsCountsAllOfItsConnections) {
    serve({.channels_per_user = 2});
    Connection const one = connect(a_user);
    Connection const other = connect(a_user);
    auto const first = one.channel<Ask, Told>();
    EXPECT_EQ(attach_all(other), 1U);
    expect_why("the user would have 3 channels, but the owner's option channels_per_user is 2");
    Connection const another = connect(another_user);
    EXPECT_EQ(attach_all(another), 1U) << "three of four are for others";
}

TEST_F(LimitsOfUsersTest, limitsOfAUsersBytesAndDescriptorsCountAllOfItsConnections) {
    serve({.descriptors_per_user = 2});
    Connection const one = connect(a_user);
    auto const first = one.channel<Ask, Told>();
    CARILLON_EXPECT_ERROR((connect(a_user).channel<Ask, Told>()), RefusedError,
                          "descriptors_per_user is 2");
}

// The process keeps some of its descriptors, whatever has used up the others.
TEST_F(LimitsOfUsersTest, descriptorsAreKeptForTheOwnersUserAndForConnections) {
    serve({});
    Store const strangers = connect<Store>(a_user);
    Store const own = connect<Store>(0);
    {
        DescriptorsOpen const most(128, 96);
        EXPECT_EQ(connect_all(a_user), 0U);
        EXPECT_EQ(seal_all(strangers), 0U);
        expect_why("reserved for the store's user");
        EXPECT_EQ(attach_to(connect(0))->call({1}, patience).twice, 2U);
        (void)own.create("", 1).seal();
    }
    DescriptorsOpen const nearly_all(128, 112);
    EXPECT_EQ(seal_all(own), 0U);
    expect_why("reserved for connections");
    EXPECT_EQ(connect<Store>(0).list().size(), 1U);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Descriptors that a client does not read count for the owner's user: they are bounded, and no
// client is dropped for them. P is an owner that is not root and may have 1024 descriptors, in a
// process of its own; C are clients, in this one, some of which read nothing.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/other_users.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_messages.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class InFlightTest : public AtPath<testing::Test, Connection, OpenSocketPath> {
   protected:
    void SetUp() override { CARILLON_SKIP_UNLESS_ROOT(); }
    // Starts a process as the owner's user.
    [[nodiscard]] Process start(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"as", std::to_string(owners_user)});
        return serving(arguments);
    }
    // `Owner`: of the owner's user.
    template <class Owner = Connection>
    [[nodiscard]] Owner connect() const {
        return AtPath::connect<Owner>({.timeout = patience, .owner_user = owners_user});
    }
    [[nodiscard]] detail::UnixSocket stranger() const {
        SeenAs const seen(a_user);
        return stranger_at(path());
    }
    // Whether the owner has read all that it was sent.
    static bool is_read(detail::UnixSocket const& by) { return !by.has_unread(); }
};

// Sends messages until the owner reads no more of them, at most so many. Returns how many.
template <class Say>
unsigned say_often(unsigned most, Say const& say_one) {
    for (unsigned i = 0; i < most; ++i) {
        try {
            if (!say_one(i)) return i;
        } catch (SystemError const& error) {
            EXPECT_EQ(error.code(), EAGAIN) << error.what();
            return i;
        }
    }
    return most;
}

TEST_F(InFlightTest, strangerThatAttachesAndReadsNothingHarmsNobody) {
    Process owner = start({"own", path(), "8"});  // of which two are kept
    Connection const before = connect();
    auto channel = before.channel<Ask, Told>();
    // 1. Leases are numbered: a stranger that detaches all of them need not read which one it has.
    std::vector<detail::UnixSocket> strangers;
    for (unsigned i = 0; i < 8; ++i) {
        auto const& each = strangers.emplace_back(stranger());
        EXPECT_TRUE(say(each, detail::Hello{"stranger"}));
    }
    for (unsigned round = 0; round < 80; ++round) {
        for (auto const& each : strangers) {
            (void)say_often(1, [&](unsigned) { return say(each, wish_for("kernel"), 2 + round); });
            (void)say_often(
                12, [&](unsigned i) { return say(each, detail::Detach{1 + 8 * round + i}, 0); });
        }
    }
    ASSERT_TRUE(eventually([&] { return is_read(strangers.back()); }));
    // 2. New clients are let in. 3. The first client goes on, and no stranger was dropped.
    for (unsigned i = 0; i < 5; ++i) {
        Connection const victim = connect();
        EXPECT_EQ((victim.channel<Ask, Told>().call({1}, patience).twice), 2U);
    }
    EXPECT_EQ(channel.call({2}, patience).twice, 4U);
    for (auto const& each : strangers) EXPECT_TRUE(say(each, detail::Look{0, 0}, 1000));
}

// Each is answered, and keeps its connection, and all goes on when the other process has gone.
TEST_F(InFlightTest, clientsAreRefusedWhileAnotherProcessOfTheOwnersUserHasUsedUpAll) {
    OpenSocketPath const of_store;
    Process owner = start({"own", path(), "2"});
    Process store = start({"store-own", of_store.get(), "1048576", "1000", "emulated"});
    Store const reader(of_store.get(), {.timeout = patience, .owner_user = owners_user});
    SealedBuffers sealed = reader.sealed_buffers();
    Connection const client = connect();
    AnyChannel const before = attach_to(client);
    {
        Process other = start({"leave-unread", path()});
        CARILLON_EXPECT_ERROR(attach_to(client), RefusedError, "Too many references");
        CARILLON_EXPECT_ERROR(reader.create("", 1), RefusedError, "Too many references");
        EXPECT_EQ(before->call({1}, patience).twice, 2U);
    }
    EXPECT_TRUE(eventually([&] {
        try {
            return attach_to(client)->call({1}, patience).twice == 2;
        } catch (RefusedError const&) {  // the system closes what was sent in its own time
            return false;
        }
    }));
    Buffer const made = reader.create("", 1).seal();
    auto const lent = sealed.next(patience);
    ASSERT_TRUE(lent);
    EXPECT_EQ(lent->id(), made.id());
}

std::vector<std::byte> get(std::string const& name, std::uint32_t id) {
    return detail::encode(id, detail::GetBuffer{{0, name}});
}

TEST_F(InFlightTest, strangerThatGetsABufferAndReadsNothingHarmsNobodyOfTheStoresUser) {
    OpenSocketPath const of_kernel;
    Process store = start({"store-own", path(), "1048576", "1000", "emulated"});
    Process owner = start({"own", of_kernel.get(), "2"});
    Store const maker = connect<Store>();
    Buffer const made = maker.create("table", 100).seal();
    std::vector<detail::UnixSocket> strangers;
    unsigned said = 0;
    for (unsigned i = 0; i < 8; ++i) {
        auto const& each = strangers.emplace_back(stranger());
        EXPECT_TRUE(each.send(detail::encode(1, detail::Hello{"stranger"})));
        said = say_often(230, [&](unsigned n) { return each.send(get("table", 2 + n)); });
    }
    // The store reads 16 messages of each connection in turn.
    for (unsigned turn = 0; turn < 50; ++turn) EXPECT_EQ(maker.get("table").size(), 100U);
    Connection const victim(of_kernel.get(), {.timeout = patience, .owner_user = owners_user});
    EXPECT_EQ((victim.channel<Ask, Told>().call({1}, patience).twice), 2U);
    // The last stranger reads its answers: it is lent as many buffers as it may have at once, the
    // rest is refused.
    unsigned lent = 0;
    unsigned refused = 0;
    EXPECT_TRUE(eventually([&] {
        auto const message = heard_by(strangers.back());
        if (!message) return lent + refused == said;
        lent += std::holds_alternative<detail::LentBuffer>(message->message) ? 1 : 0;
        refused += std::holds_alternative<detail::Refused>(message->message) ? 1 : 0;
        return lent + refused == said;
    })) << lent
        << " lent, " << refused << " refused";
    EXPECT_GT(lent, 0U);
    EXPECT_GT(refused, 0U);
}

TEST_F(InFlightTest, consumersThatAreBusyForAWhileGetEveryBufferAndHoldNobodyUp) {
    constexpr unsigned count = 200;
    Process store = start({"store-own", path(), "67108864", "1000", "emulated"});
    Store const maker = connect<Store>();
    std::vector<Store> of_busy;
    std::vector<SealedBuffers> busy;
    for (unsigned i = 0; i < 6; ++i) {
        busy.push_back(of_busy.emplace_back(connect<Store>()).sealed_buffers());
    }
    for (unsigned i = 0; i < count; ++i) {
        ASSERT_NO_THROW((void)maker.create("", 1).seal()) << i;
    }
    EXPECT_EQ(connect<Store>().get(1).size(), 1U);
    for (SealedBuffers& each : busy) {
        for (unsigned i = 0; i < count; ++i) {
            auto const buffer = each.next(patience);
            ASSERT_TRUE(buffer) << i;
            EXPECT_EQ(buffer->id(), i + 1);
        }
        EXPECT_EQ(each.missed(), 0U);
    }
}

// The client looks for its answers later, and all are there.
TEST_F(InFlightTest, clientThatReadsAfterAPauseKeepsItsConnection) {
    Process owner = start({"own", path(), "1"});
    auto const client = stranger();
    EXPECT_TRUE(say(client, detail::Hello{"slow"}));
    std::uint32_t last = 1;
    for (unsigned full = 0; full < 100;) {
        unsigned const said = say_often(1, [&](unsigned) {
            return say(client, detail::Look{0, 0}, last + 1);
        });
        last += said;
        full = said == 0 ? full + 1 : 0;
        if (said == 0) std::this_thread::yield();
    }
    std::uint32_t heard = 0;
    EXPECT_TRUE(eventually([&] {
        auto const message = heard_by(client);
        if (!message) return false;
        EXPECT_EQ(message->id, heard + 1);
        heard = message->id;
        return heard == last;
    })) << heard
        << " of " << last;
}

// A debugger, or a machine that was suspended.
TEST_F(InFlightTest, ownerThatWasStoppedHearsThatAChannelHasGone) {
    Process owner = start({"own", path(), "1"});
    std::optional<Connection> client;
    Connection const next = connect();
    AnyChannel channel;
    ASSERT_TRUE(eventually([&] {
        try {
            client.emplace(path(), ConnectOptions{.timeout = 1ms, .owner_user = owners_user});
            channel = attach_to(*client);
            return true;
        } catch (Error const&) {  // a millisecond was too short
            return false;
        }
    }));
    ASSERT_TRUE(owner.stop());
    for (unsigned i = 0; i < 400; ++i) {
        EXPECT_THROW((void)client->status(), TimeoutError);
    }
    channel.reset();
    owner.go_on();
    EXPECT_TRUE(eventually([&] {
        try {
            return next.channel<Ask, Told>().call({1}, patience).twice == 2;
        } catch (RefusedError const& error) {
            EXPECT_EQ(error.reason(), RefusalReason::full) << error.what();
            return false;
        }
    }));
    EXPECT_TRUE(eventually([&] {
        try {
            return client->status().objects.size() == 1;
        } catch (TimeoutError const&) {
            return false;
        }
    })) << "its connection is there still";
}

}  // namespace
}  // namespace carillon::test

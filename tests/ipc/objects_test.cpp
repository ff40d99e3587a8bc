// SPDX-License-Identifier: Apache-2.0
// Several kernels, and objects, at one path. P is the owner, C a client; both are in this process.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class ObjectsTest : public WithServer<> {
   protected:
    ObjectsTest() : WithServer({.name = "desk"}) {}
};

TEST_F(ObjectsTest, kernelsAreAskedForByName) {
    // 1. P serves two kernels, of other messages.
    auto const quotes = kernel<CountingHandler>();
    auto const risk = kernel<SumHandler>();
    server().add("quotes", quotes);
    risk.serve(server(), "risk");
    // 2. C has a channel of each. 3. Both answer, by the one connection.
    Connection const owner = connect();
    EXPECT_EQ(owner.owner().name, "desk");
    auto to_quotes = owner.channel<Ask, Told>("quotes");
    auto to_risk = owner.channel<SumHandler>("risk");
    EXPECT_EQ(to_quotes.call({4}, patience).twice, 8U);
    EXPECT_EQ(to_risk.call(LongAsk{}, patience).word[39], 1U);
    // 4. Each has places of its own.
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("quotes")), RefusedError, "all blocks (1)");
    OwnerStatus const status = owner.status();
    ASSERT_EQ(status.objects.size(), 2U);
    EXPECT_EQ(status.objects[0].name, "quotes");
    EXPECT_EQ(status.objects[1].name, "risk");
    EXPECT_EQ(status.objects[1].kind, ObjectKind::kernel);
    EXPECT_FALSE(status.objects[1].blocks.at(0).client.empty());
}

// 1. P serves a kernel, and C finds no store. 2. P adds a store: clients of either are served. 3. P
// destroys the store: its client gets an error, and the kernel's client notices nothing. 4.
// Another store may follow.
TEST_F(ObjectsTest, storeOfBuffersIsServedBesideKernels) {
    auto const quotes = kernel<CountingHandler>();
    server().add("quotes", quotes);
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR(connect<Store>(), RefusedError,
                          "Store: refused (unknown object): the owner serves no store of buffers");
    CARILLON_EXPECT_ERROR((void)owner.store(), RefusedError, "Connection::store: refused");
    EXPECT_FALSE(owner.status().store);
    std::optional<Store> store(std::in_place, device());
    server().add(*store);
    CARILLON_EXPECT_ERROR(server().add(*store), UsageError,
                          "Server::add: the server already has a store");
    Store const buffers = owner.store();
    EXPECT_EQ(buffers.owner().instance, owner.owner().instance);
    auto channel = owner.channel<Ask, Told>("quotes");
    Buffer const open = buffers.create("", 1);
    EXPECT_EQ(buffers.create("prices", 100).seal().name(), "prices");
    EXPECT_EQ(store->get("prices").size(), 100U);
    std::optional<StoreStatus> const status = owner.status().store;
    ASSERT_TRUE(status);
    EXPECT_EQ(status->buffers, 2U);
    EXPECT_EQ(status->sealed, 1U);
    EXPECT_EQ(status->bytes, 2U * 65536);
    EXPECT_EQ(status->most_bytes, StoreOptions().bytes);
    EXPECT_EQ(channel.call({4}, patience).twice, 8U);
    EXPECT_EQ(server().clients().size(), 2U);
    store.reset();
    EXPECT_TRUE(eventually([&] {
        try {
            (void)buffers.list();
        } catch (OwnerGoneError const&) {
            return true;
        } catch (RefusedError const&) {  // the server has not looked yet
        }
        return false;
    }));
    EXPECT_FALSE(owner.status().store);
    EXPECT_EQ(channel.call({5}, patience).twice, 10U);
    Store const next(device());
    server().add(next);
    EXPECT_TRUE(connect<Store>().list().empty());
}

// std::getenv may give a null pointer.
TEST_F(ObjectsTest, nullPointerInThePlaceOfANameOrPathIsAUsageError) {
    char const* const none = nullptr;
    auto const quotes = kernel<CountingHandler>();
    server().add("quotes", quotes);
    CARILLON_EXPECT_ERROR(server().add(none, quotes), UsageError, "is a null pointer");
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>(none)), UsageError,
                          "Connection::channel: the name of the object is a null pointer");
    CARILLON_EXPECT_ERROR(owner.mailbox<int>(none), UsageError,
                          "Connection::mailbox: the name of the object is a null");
    CARILLON_EXPECT_ERROR((owner.ring<int, Direction::to_host>(none)), UsageError,
                          "Connection::ring: the name of the object is a null");
    CARILLON_EXPECT_ERROR(owner.chunk_ring(none), UsageError,
                          "Connection::chunk_ring: the name of the object is a null");
    CARILLON_EXPECT_ERROR(owner.log(none), UsageError,
                          "Connection::log: the name of the object is a null");
    Store const store(device());
    CARILLON_EXPECT_ERROR(store.create(none, 4096), UsageError,
                          "Store::create: the name of the buffer is a null");
    CARILLON_EXPECT_ERROR(store.get(none), UsageError,
                          "Store::get: the name of the buffer is a null");
    CARILLON_EXPECT_ERROR(store.remove(none), UsageError,
                          "Store::remove: the name of the buffer is a null");
    for (auto const& at_path : {+[](char const* path) { (void)carillon::connect(path); },
                                +[](char const* path) { (void)Store(path); },
                                +[](char const* path) { (void)Server(path); }}) {
        CARILLON_EXPECT_ERROR(at_path(none), UsageError,
                              "the path of the socket is empty or a null pointer");
    }
    EXPECT_EQ((owner.channel<Ask, Told>("quotes").call({4}, patience).twice), 8U);
}

TEST_F(ObjectsTest, nameThatIsNotThereIsAnsweredByThoseThatAre) {
    Connection const owner = connect();
    EXPECT_TRUE(owner.status().objects.empty());
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("risk")), RefusedError, "serves nothing yet");
    auto const served = kernel<CountingHandler>();
    server().add("quotes", served);
    server().add("more quotes", served);
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("risk")), RefusedError,
                          R"(there is no "risk"; the owner serves "quotes", "more quotes")");
}

TEST_F(ObjectsTest, namesThatAreTakenOrNoneAreRefused) {
    auto const served = kernel<CountingHandler>();
    server().add("quotes", served);
    CARILLON_EXPECT_ERROR(server().add("quotes", served), UsageError,
                          R"(there is already a kernel named "quotes")");
    CARILLON_EXPECT_ERROR(server().add("", served), UsageError, "a name of 0 characters");
    CARILLON_EXPECT_ERROR(served.serve(server(), "a\nb"), UsageError, "control character");
}

// A kernel's clients hear of its state, the other kernel's clients do not.
TEST_F(ObjectsTest, kernelThatEndsIsTheEndOfItsChannelsOnly) {
    auto quotes = kernel<CountingHandler>();
    auto const risk = kernel<SumHandler>();
    server().add("quotes", quotes);
    server().add("risk", risk);
    Connection const owner = connect();
    auto to_quotes = owner.channel<Ask, Told>("quotes");
    auto to_risk = owner.channel<SumHandler>("risk");
    quotes.stop(patience);
    EXPECT_TRUE(eventually([&] {
        try {
            (void)to_quotes.call({1}, patience);
        } catch (StoppedError const&) {
            return true;
        }
        return false;
    }));
    EXPECT_EQ(to_risk.call(LongAsk{}, patience).word[0], 1U);
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("quotes")), RefusedError, "stopping");
    // A client that connects afterwards gets this error, too.
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>("quotes")), RefusedError, "stopping");
}

// A drain waits for the kernel's own channels, and asks no client of the other kernel.
TEST_F(ObjectsTest, kernelThatDrainsWaitsForItsOwnClientsOnly) {
    auto quotes = kernel<CountingHandler>();
    auto const risk = kernel<SumHandler>();
    server().add("quotes", quotes);
    server().add("risk", risk);
    Connection const owner = connect();
    auto to_quotes = owner.channel<Ask, Told>("quotes");
    auto to_risk = owner.channel<SumHandler>("risk");
    auto const unanswered = to_risk.try_submit(LongAsk{});
    EXPECT_EQ(to_quotes.call({1}, patience).twice, 2U);
    EXPECT_NO_THROW(quotes.drain(patience));
    ASSERT_TRUE(unanswered);
    EXPECT_EQ(to_risk.wait(*unanswered, patience).word[0], 1U);
}

// C's connection goes while another thread of C attaches by it: that one goes on, or is refused.
TEST_F(ObjectsTest, connectionThatIsLetGoWhileAnotherThreadAttaches) {
    auto const served = kernel<CountingHandler>({.blocks = 2});
    SharedMailbox<Ask> const gains(device());
    auto end = gains.device_handle();
    server().add("quotes", served);
    server().add("gains", gains);
    for (std::uint64_t round = 0; round < 50; ++round) {
        auto session = session_at(path());
        std::jthread const calls([session, round] {
            Channel<Ask, Told> channel(lease_of(*session, "quotes"));
            EXPECT_EQ(channel.call({round}, patience).twice, 2 * round);
        });
        std::jthread const sets([session] {
            (void)session->end_of<detail::MailboxLayout>(
                "gains", ObjectKind::mailbox, detail::message_type<Ask>(mailbox_lines<Ask>));
        });
        session.reset();
        Ask any{};
        EXPECT_TRUE(eventually([&] {
            (void)end.refresh(any);
            return server().clients().empty();
        }));
    }
}

}  // namespace
}  // namespace carillon::test

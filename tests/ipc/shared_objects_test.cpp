// SPDX-License-Identifier: Apache-2.0
// Mailboxes, rings and chunk rings whose end on the host is a client's. P is the owner, in this
// process; the test's thread plays its device, and looks when the test says so. C is a client, in
// this process or in another.
#include "carillon/shared_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;

class SharedObjectsTest : public WithServer<testing::TestWithParam<char const*>> {
   protected:
    SharedObjectsTest() : WithServer({}, GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(On, SharedObjectsTest, testing::Values("emulated", "emulated:vulkan"),
                         [](auto const& tested) {
                             return std::string(tested.param) == "emulated" ? "emulated" : "vulkan";
                         });

struct Gains {
    std::uint64_t value[20];  // of several lines
};
Gains gains(std::uint64_t value) {
    Gains made{};
    std::ranges::fill(made.value, value);
    return made;
}
bool whole(Gains const& gains) {
    return std::ranges::all_of(gains.value,
                               [&](std::uint64_t each) { return each == gains.value[0]; });
}

// Looks until it has something new.
template <class End>
std::uint64_t next_gain(End& end) {
    Gains found{};
    EXPECT_TRUE(eventually([&] { return end.refresh(found); }));
    EXPECT_TRUE(whole(found));
    return found.value[0];
}
template <class End>
std::uint64_t next_message(End& end) {
    Ask found{};
    EXPECT_TRUE(eventually([&] { return end.try_pop(found); }));
    return found.value;
}
// Looks often enough for a look at the lease.
template <class End>
void look_in_vain(End& end) {
    Ask found{};
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) EXPECT_FALSE(end.try_pop(found));
}

TEST_P(SharedObjectsTest, mailboxIsOneClientsAtATime) {
    SharedMailbox<Gains> const shared(device());
    server().add("gains", shared);
    auto end = shared.device_handle();
    Gains found{};
    EXPECT_FALSE(end.refresh(found));  // none was ever set
    {
        // 1. C has the mailbox, and sets. 2. P's device finds the newest.
        Connection const owner = connect();
        auto mailbox = owner.mailbox<Gains>("gains");
        for (std::uint64_t i = 1; i < 100; ++i) mailbox.set(gains(i));
        EXPECT_EQ(next_gain(end), 99U);
        EXPECT_TRUE(end.has_client());
        // 3. Another one gets none.
        CARILLON_EXPECT_ERROR(connect().mailbox<Gains>("gains"), RefusedError,
                              "the mailbox has a client");
        // 4. The last value of C, which nobody has read, stays when C goes.
        mailbox.set(gains(100));
    }
    await_clients(0);
    EXPECT_EQ(next_gain(end), 100U);
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) EXPECT_FALSE(end.refresh(found));
    EXPECT_FALSE(end.has_client());
    // 5. The next client begins anew; the value stays until it sets one.
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    EXPECT_FALSE(end.refresh(found));
    mailbox.set(gains(7));
    EXPECT_EQ(next_gain(end), 7U);
}

// Clients of one user come one after the other, and the device does not look between them. Catches
// a mailbox that is refused to the second, and a reader that misses the value that was set last.
TEST_P(SharedObjectsTest, clientsOfOneUserSetAMailboxThatNobodyLooksAt) {
    SharedMailbox<Gains> const shared(device(), {.readers = 2});
    server().add("gains", shared);
    auto first = shared.device_handle(0);
    auto second = shared.device_handle(1);
    auto const set = [&](std::uint64_t value) {
        Connection const owner = connect();
        auto mailbox = owner.mailbox<Gains>("gains");
        if (value != 0) mailbox.set(gains(value));
    };
    for (std::uint64_t value = 1; value <= 10; ++value) set(value);
    await_clients(0);
    EXPECT_EQ(next_gain(first), 10U);
    // One reader has left the client, the other has not. A client that sets nothing leaves the
    // value.
    for (std::uint64_t value : {11, 12, 0}) set(value);
    await_clients(0);
    EXPECT_EQ(next_gain(second), 12U);
    EXPECT_EQ(next_gain(first), 12U);
    // While one is there.
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    mailbox.set(gains(13));
    EXPECT_EQ(next_gain(first), 13U);
    mailbox.set(gains(14));
    EXPECT_EQ(next_gain(first), 14U);
    EXPECT_EQ(next_gain(second), 14U);
    Gains found{};
    EXPECT_FALSE(first.refresh(found) || second.refresh(found));
}

// Catches a user that finds memory of a mailbox into which another user's client can still write.
TEST_P(SharedObjectsTest, everyReaderOfAMailboxLeavesItBeforeAnotherUsersClient) {
    ObjectShape const shape{4, mailbox_lines<Gains>, 0};
    detail::Lender object(device(), ObjectKind::mailbox, shape,
                          detail::message_type<Gains>(mailbox_lines<Gains>), 2, 1);
    using End = SharedMailbox<Gains>::DeviceEnd;
    MailboxReader<Gains, DeviceNear> const no_owner(MailboxView{});
    CodeLocation const here = CodeLocation::current();
    End ends[] = {End(object.take("test", 0, here), 0, shape, no_owner),
                  End(object.take("test", 1, here), 1, shape, no_owner)};
    auto const sharing = detail::Lender::sharing_for(device());
    auto const begin = [&](std::uint32_t user) {
        auto const lent = object.begin(user, sharing);
        return lent ? lent->memory.get() : nullptr;
    };
    auto const* const memory = begin(1);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(begin(1), nullptr) << "it has a client";
    object.end(0);
    EXPECT_EQ(begin(2), nullptr);
    EXPECT_EQ(begin(1), memory) << "nobody has looked";
    object.end(0);
    Gains found{};
    EXPECT_FALSE(ends[0].refresh(found));
    EXPECT_EQ(begin(2), nullptr) << "one has not";
    EXPECT_FALSE(ends[1].refresh(found));
    auto const* const others = begin(2);
    ASSERT_NE(others, nullptr);
    EXPECT_NE(others, memory);
}

// P may set the mailbox whether C has it or not.
TEST_P(SharedObjectsTest, ownerSetsItsMailboxBesideAClient) {
    SharedMailbox<Gains> shared(device(), {.readers = 2});
    server().add("gains", shared);
    auto first = shared.device_handle(0);
    auto second = shared.device_handle(1);
    // 1. P sets before any client has come. 2. C has the mailbox. 3. P sets, 4. C sets, 5. P does.
    shared.set(gains(1));
    EXPECT_EQ(next_gain(first), 1U);
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    mailbox.set(gains(2));
    EXPECT_EQ(next_gain(first), 2U);
    shared.set(gains(3));
    EXPECT_EQ(next_gain(first), 3U);
    mailbox.set(gains(4));
    EXPECT_EQ(next_gain(first), 4U);
    shared.set(gains(5));
    // A reader that finds both new has the owner's.
    EXPECT_EQ(next_gain(second), 5U);
    EXPECT_EQ(next_gain(first), 5U);
    Gains found{};
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) {
        EXPECT_FALSE(first.refresh(found) || second.refresh(found));
    }
}

// Catches a reader that has left a client's value, and finds it anew when the next client comes.
TEST_P(SharedObjectsTest, clientThatSetsNothingLeavesWhatTheOwnerHasSet) {
    SharedMailbox<Gains> shared(device(), {.readers = 2});
    server().add("gains", shared);
    auto first = shared.device_handle(0);
    auto second = shared.device_handle(1);
    {
        Connection const owner = connect();
        auto mailbox = owner.mailbox<Gains>("gains");
        mailbox.set(gains(1));
        EXPECT_EQ(next_gain(first), 1U);
        EXPECT_EQ(next_gain(second), 1U);
    }
    await_clients(0);
    // One reader has left the client's memory, the other has not looked: it is lent again.
    Gains found{};
    EXPECT_FALSE(first.refresh(found));
    shared.set(gains(2));
    EXPECT_EQ(next_gain(first), 2U);
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) EXPECT_FALSE(first.refresh(found));
    EXPECT_TRUE(first.has_client());
    EXPECT_EQ(next_gain(second), 2U);
    mailbox.set(gains(3));
    EXPECT_EQ(next_gain(first), 3U);
    EXPECT_EQ(next_gain(second), 3U);
}

TEST_P(SharedObjectsTest, ownersValueIsFoundAtTheNextLookBesideAClientToo) {
    SharedMailbox<Gains> shared(device());
    server().add("gains", shared);
    auto end = shared.device_handle();
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    mailbox.set(gains(1));
    EXPECT_EQ(next_gain(end), 1U);
    Gains found{};
    for (std::uint64_t looks = 0; looks < 2 * tries_between_leases; ++looks) {
        for (std::uint64_t i = 0; i < looks; ++i) EXPECT_FALSE(end.refresh(found));
        shared.set(gains(100 + looks));
        EXPECT_TRUE(end.refresh(found));
        EXPECT_EQ(found.value[0], 100 + looks);
        mailbox.set(gains(200 + looks));
        EXPECT_TRUE(end.refresh(found));
        EXPECT_EQ(found.value[0], 200 + looks);
    }
}

// The device does not look between them.
TEST_P(SharedObjectsTest, clientsOfEitherMemorySetAMailboxOneAfterTheOther) {
    SharedMailbox<Gains> const shared(device());
    server().add("gains", shared);
    auto end = shared.device_handle();
    auto const set = [&](bool host_memory, std::uint64_t value) {
        Connection const owner = connect({.timeout = patience, .host_memory = host_memory});
        auto mailbox = owner.mailbox<Gains>("gains");
        mailbox.set(gains(value));
    };
    set(true, 1);
    set(false, 2);
    set(true, 3);
    await_clients(0);
    EXPECT_EQ(next_gain(end), 3U);
}

TEST_P(SharedObjectsTest, whatWasWholeInARingStandsWhenItsClientGoes) {
    SharedRing<Ask, Direction::to_device> const shared(device(), {.capacity = 8});
    server().add("orders", shared);
    auto end = shared.device_handle();
    for (std::uint64_t client = 1; client < 5; ++client) {
        unsigned pushed = 0;
        {
            Connection const owner = connect();
            auto ring = owner.ring<Ask, Direction::to_device>("orders");
            EXPECT_EQ(ring.capacity(), 8U);
            for (std::uint64_t i = 0; i < 20; ++i) {
                ring.push({100 * client + i}, patience);
                EXPECT_EQ(next_message(end), 100 * client + i);
            }
            while (ring.try_push({client})) ++pushed;
        }
        await_clients(0);
        // The ring holds that many messages, and no others.
        EXPECT_GE(pushed, 6U);
        for (unsigned i = 0; i < pushed; ++i) ASSERT_EQ(next_message(end), client);
        look_in_vain(end);
        EXPECT_FALSE(end.has_client());
    }
}

// P's device did not look while C had it.
TEST_P(SharedObjectsTest, ringThatNobodyLookedIntoMeanwhileIsLookedIntoAfterwards) {
    SharedRing<Ask, Direction::to_device> const shared(device());
    server().add("orders", shared);
    auto end = shared.device_handle();
    {
        Connection const owner = connect();
        owner.ring<Ask, Direction::to_device>("orders").push({5}, patience);
    }
    await_clients(0);
    EXPECT_EQ(next_message(end), 5U);
    look_in_vain(end);
}

TEST_P(SharedObjectsTest, ringToTheHostHasNoRoomWithoutAClient) {
    SharedRing<Ask, Direction::to_host> const shared(device(), {.capacity = 8});
    server().add("fills", shared);
    auto end = shared.device_handle();
    EXPECT_FALSE(end.try_push({1}));
    {
        Connection const owner = connect();
        auto ring = owner.ring<Ask, Direction::to_host>("fills");
        for (std::uint64_t i = 0; i < 100; ++i) {
            EXPECT_TRUE(eventually([&] { return end.try_push({i}); }));
            EXPECT_EQ(ring.pop(patience).value, i);
        }
        CARILLON_EXPECT_ERROR(ring.pop(1ms), TimeoutError, "Ring::pop");
        EXPECT_TRUE(end.try_push({1}));  // it is never taken
    }
    await_clients(0);
    for (unsigned i = 0; i < 2 * tries_between_leases; ++i) (void)end.try_push({2});
    EXPECT_FALSE(end.try_push({3}));
    // The next one finds nothing of that.
    Connection const owner = connect();
    auto ring = owner.ring<Ask, Direction::to_host>("fills");
    EXPECT_FALSE(ring.try_pop());
    EXPECT_TRUE(eventually([&] { return end.try_push({4}); }));
    EXPECT_EQ(ring.pop(patience).value, 4U);
}

// The counts of the object that is served first, as its owner shows them.
ServedBlock seen_by(Connection const& watcher) {
    return watcher.status().objects.at(0).blocks.at(0);
}

TEST_P(SharedObjectsTest, whatGoesThroughARingIsCounted) {
    SharedRing<Ask, Direction::to_device> const shared(device(), {.capacity = 8});
    server().add("orders", shared);
    auto end = shared.device_handle();
    Connection const watcher = connect();
    {
        Connection const owner = connect();
        auto ring = owner.ring<Ask, Direction::to_device>("orders");
        for (std::uint64_t i = 0; i < 20; ++i) {
            ring.push({i}, patience);
            EXPECT_EQ(next_message(end), i);
        }
        for (std::uint64_t i = 0; i < 3; ++i) ring.push({i}, patience);
        ServedBlock const seen = seen_by(watcher);
        EXPECT_EQ(seen.counters.submitted, 23U);
        EXPECT_LE(seen.counters.taken, 20U);
        EXPECT_GE(seen.counters.taken, 18U) << "but for what is returned in batches";
        EXPECT_EQ(seen.counters.depth, seen.counters.submitted - seen.counters.taken);
        EXPECT_EQ(seen.gone.submitted, 0U);
    }
    await_clients(1);
    ServedBlock const seen = seen_by(watcher);
    EXPECT_EQ(seen.counters.submitted, 0U);
    EXPECT_EQ(seen.gone.submitted, 23U);
    EXPECT_EQ(seen.gone.taken + seen.gone.dropped, 23U);
}

TEST_P(SharedObjectsTest, whatGoesToTheHostAndHowOftenAMailboxIsSetAreCounted) {
    SharedRing<Ask, Direction::to_host> const fills(device(), {.capacity = 8});
    server().add("fills", fills);
    auto end = fills.device_handle();
    SharedMailbox<Gains> const shared(device());
    server().add("gains", shared);
    Connection const owner = connect();
    auto ring = owner.ring<Ask, Direction::to_host>("fills");
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_TRUE(eventually([&] { return end.try_push({i}); }));
    }
    EXPECT_EQ(ring.pop(patience).value, 0U);
    ServedBlock const seen = seen_by(owner);
    EXPECT_EQ(seen.counters.submitted, 5U);
    EXPECT_LE(seen.counters.taken, 1U);
    auto mailbox = owner.mailbox<Gains>("gains");
    for (std::uint64_t i = 0; i < 7; ++i) mailbox.set(gains(i));
    EXPECT_EQ(owner.status().objects.at(1).blocks.at(0).counters.submitted, 7U);
}

constexpr std::size_t chunk_bytes = 1000;
using Chunks = SharedChunkRing<std::uint64_t>;

ChunkView<std::uint64_t> next_chunk(Chunks::DeviceEnd& end) {
    ChunkView<std::uint64_t> chunk{};
    EXPECT_TRUE(eventually([&] { return end.try_take(chunk); }));
    return chunk;
}
std::vector<std::byte> bytes_of(std::uint64_t number) {
    return std::vector<std::byte>(chunk_bytes, static_cast<std::byte>(number));
}

TEST_P(SharedObjectsTest, chunksAreFilledByAClient) {
    Chunks const shared(device(), {.chunk_bytes = chunk_bytes, .chunks = 4});
    server().add("ticks", shared);
    auto end = shared.device_handle();
    Connection const owner = connect();
    auto ring = owner.chunk_ring<std::uint64_t>("ticks");
    EXPECT_EQ(ring.chunks(), 4U);
    EXPECT_EQ(ring.chunk_bytes(), chunk_bytes);
    for (std::uint64_t i = 0; i < 50; ++i) {
        auto chunk = ring.claim(patience);
        std::vector<std::byte> const sent = bytes_of(i);
        chunk.fill(0, sent);
        chunk.commit(chunk_bytes - i, i);
        auto const found = next_chunk(end);
        EXPECT_EQ(found.meta, i);
        EXPECT_EQ(found.size, chunk_bytes - i);
        EXPECT_EQ(std::memcmp(found.data, sent.data(), found.size), 0);
        EXPECT_TRUE(end.release(found.sequence));
    }
}

TEST_P(SharedObjectsTest, chunkThatWasBegunIsDroppedAndOneThatIsReadIsKept) {
    Chunks const shared(device(), {.chunk_bytes = chunk_bytes, .chunks = 4});
    server().add("ticks", shared);
    auto end = shared.device_handle();
    auto connection = std::make_optional(connect());
    auto ring = std::make_optional(connection->chunk_ring<std::uint64_t>("ticks"));
    // 1. C commits the first and the third chunk, and dies in the second: later chunks are dropped.
    ring->claim(patience).commit(10, 1);
    Process client({"die-in-a-chunk", path()});
    EXPECT_NE(client.line().find("chunk ring has a client"), std::string::npos);
    auto const first = next_chunk(end);
    EXPECT_EQ(first.meta, 1U);
    ring.reset();
    connection.reset();
    await_clients(0);
    // 2. P's device reads the first still: the next client waits. 3. It does not any more.
    ChunkView<std::uint64_t> none{};
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) EXPECT_FALSE(end.try_take(none));
    Process next({"die-in-a-chunk", path()});
    EXPECT_EQ(std::count(first.data, first.data + 10, std::byte{0}), 10);
    EXPECT_TRUE(end.release(first.sequence));
    EXPECT_FALSE(end.try_take(none));
    EXPECT_EQ(next.line(), "committed 1 and 3");
    EXPECT_EQ(next_chunk(end).meta, 1U);
    EXPECT_TRUE(next.kill());
    await_clients(0);
    for (unsigned i = 0; i < 3 * tries_between_leases; ++i) EXPECT_FALSE(end.try_take(none));
}

TEST_P(SharedObjectsTest, ownersEndIsTheEndOfEveryWait) {
    SharedMailbox<Gains> const mailbox_of(device());
    SharedRing<Ask, Direction::to_device> const orders_of(device(), {.capacity = 2});
    SharedRing<Ask, Direction::to_host> const fills_of(device());
    SharedChunkRing<> const ticks_of(device());
    server().add("gains", mailbox_of);
    server().add("orders", orders_of);
    server().add("fills", fills_of);
    server().add("ticks", ticks_of);
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    auto orders = owner.ring<Ask, Direction::to_device>("orders");
    auto fills = owner.ring<Ask, Direction::to_host>("fills");
    auto ticks = owner.chunk_ring<>("ticks");
    auto end = fills_of.device_handle();
    EXPECT_TRUE(eventually([&] { return end.try_push({3}); }));
    while (orders.try_push({1})) {
    }
    auto tick = ticks.claim(patience);
    // 1. C waits for room. 2. P goes. 3. C gets the error, then and from then on.
    auto waits = std::async(std::launch::async, [&] { orders.push({2}, patience); });
    end_server();
    CARILLON_EXPECT_ERROR(waits.get(), OwnerGoneError, "Ring::push");
    CARILLON_EXPECT_ERROR(mailbox.set(gains(1)), OwnerGoneError, "Mailbox::set");
    CARILLON_EXPECT_ERROR((void)ticks.try_claim(), OwnerGoneError, "ChunkRing::");
    CARILLON_EXPECT_ERROR(tick.commit(1), OwnerGoneError, "Chunk::commit");
    CARILLON_EXPECT_ERROR((void)orders.try_push({2}), OwnerGoneError, "Ring::try_push");
    // A message that had come is there.
    EXPECT_EQ(fills.pop(patience).value, 3U);
    CARILLON_EXPECT_ERROR((void)fills.try_pop(), OwnerGoneError, "Ring::try_pop");
    CARILLON_EXPECT_ERROR((void)fills.pop(patience), OwnerGoneError, "Ring::pop");
}

TEST_P(SharedObjectsTest, whatIsAskedForInVain) {
    SharedMailbox<Gains> const shared(device());
    SharedRing<Ask, Direction::to_device> const orders(device());
    server().add("gains", shared);
    server().add("orders", orders);
    CARILLON_EXPECT_ERROR(server().add("gains", orders), UsageError,
                          R"(there is already a mailbox named "gains")");
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR(owner.mailbox<Gains>("losses"), RefusedError,
                          R"(there is no "losses"; the owner serves "gains", "orders")");
    CARILLON_EXPECT_ERROR(owner.mailbox<Ask>("gains"), RefusedError,
                          "Connection::mailbox: refused");
    CARILLON_EXPECT_ERROR(owner.mailbox<Ask>("orders"), RefusedError,
                          R"("orders" is a ring to the device, not a mailbox)");
    CARILLON_EXPECT_ERROR((owner.ring<Ask, Direction::to_host>("orders")), RefusedError,
                          "not a ring to the host");
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("orders")), RefusedError, "not a kernel");
    auto mine = owner.mailbox<Gains>("gains");
    CARILLON_EXPECT_ERROR((void)mine.device_handle(), UsageError, "the owner's");
    auto ring = owner.ring<Ask, Direction::to_device>("orders");
    CARILLON_EXPECT_ERROR((void)ring.device_handle(), UsageError, "the owner's");
    (void)orders.device_handle();
    CARILLON_EXPECT_ERROR((void)orders.device_handle(), UsageError, "SharedRing::device_handle");
    CARILLON_EXPECT_ERROR((void)shared.device_handle(1), UsageError, "there is no reader 1");
}

TEST_P(SharedObjectsTest, optionsThatMakeNoSense) {
    CARILLON_EXPECT_ERROR(SharedMailbox<Gains>(device(), {.capacity = 3}), UsageError,
                          "SharedMailbox");
    CARILLON_EXPECT_ERROR(SharedMailbox<Gains>(device(), {.readers = 0}), UsageError, "0 readers");
    CARILLON_EXPECT_ERROR(SharedMailbox<Gains>(device(), {.readers = 1025}), UsageError,
                          "1025 readers");
    using Orders = SharedRing<Ask, Direction::to_device>;
    CARILLON_EXPECT_ERROR(Orders(device(), {.capacity = 1}), UsageError, "SharedRing: a capacity");
    CARILLON_EXPECT_ERROR(Chunks(device(), {.chunk_bytes = 0}), UsageError, "chunks of 0 bytes");
    CARILLON_EXPECT_ERROR(Chunks(device(), {.chunks = 5}), UsageError, "SharedChunkRing");
}

// The host's end has a descriptor, which a client may keep.
TEST_P(SharedObjectsTest, memoryOfOneUserIsNeverLentToAnother) {
    ObjectShape const shape{8, 1, 0};
    detail::Lender object(device(), ObjectKind::ring_to_device, shape, detail::message_type<Ask>(),
                          1, 1);
    LeasedConsumer<Ask, DeviceNear, DeviceFar> end(object.take("test", 0, CodeLocation::current()),
                                                   0, shape);
    auto const lend = [&](std::uint32_t user) {
        auto const lent = object.begin(user, ChannelSharing::exported_from_host);
        object.end(0);
        Ask none{};
        EXPECT_FALSE(end.try_pop(none));  // it leaves
        return lent ? lent->memory.get() : nullptr;
    };
    auto const* const first = lend(1000);
    EXPECT_NE(lend(1001), first);
    EXPECT_EQ(lend(1000), first);
    EXPECT_NE(lend(1002), nullptr);
    EXPECT_NE(lend(1003), nullptr);  // frees memory that is not in use
    EXPECT_EQ(lend(1000), first);
}

// C writes all that it can write, at any time. P's device goes on, and serves the next client.
class HostileObjectsTest : public SharedObjectsTest {
   protected:
    static constexpr unsigned rounds = 4000;

    // Writes words of every kind anywhere into the memory that the lease maps.
    static void scribble(detail::ChannelLease const& lease, std::mt19937_64& random) {
        auto const& mapped = static_cast<detail::ClientLease const&>(lease).mapped();
        for (std::span<std::byte> const bytes : {mapped.device_bytes(), mapped.host_bytes()}) {
            std::size_t const words = bytes.size() / sizeof(std::uint64_t);
            if (words == 0) continue;
            std::uint64_t const some[] = {random(), random() % 64, ~std::uint64_t{0},
                                          mapped.attached().first + random() % 16};
            std::uint64_t const tagged = some[3] << 32U | (random() & 0xffffffffU);
            std::uint64_t const word = random() % 5 == 4 ? tagged : some[random() % 4];
            std::memcpy(bytes.data() + random() % words * sizeof(word), &word, sizeof(word));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(On, HostileObjectsTest, testing::Values("emulated"));

TEST_P(HostileObjectsTest, garbageInAMailbox) {
    SharedMailbox<Gains> const shared(device());
    server().add("gains", shared);
    auto end = shared.device_handle();
    std::mt19937_64 random(1);
    {
        auto const lent = session_at(path())->end_of<detail::MailboxLayout>(
            "gains", ObjectKind::mailbox, detail::message_type<Gains>(mailbox_lines<Gains>));
        Gains any{};
        for (unsigned i = 0; i < rounds; ++i) {
            scribble(lent.lent_by.lease(), random);
            (void)end.refresh(any);
        }
    }
    await_clients(0);
    Gains rest{};
    for (unsigned i = 0; i < 2 * tries_between_leases; ++i) (void)end.refresh(rest);
    Connection const owner = connect();
    auto mailbox = owner.mailbox<Gains>("gains");
    mailbox.set(gains(5));
    EXPECT_EQ(next_gain(end), 5U);
}

TEST_P(HostileObjectsTest, garbageInRings) {
    SharedRing<Ask, Direction::to_device> const orders(device(), {.capacity = 8});
    SharedRing<Ask, Direction::to_host> const fills(device(), {.capacity = 8});
    server().add("orders", orders);
    server().add("fills", fills);
    auto in = orders.device_handle();
    auto out = fills.device_handle();
    std::mt19937_64 random(2);
    {
        auto const owner = session_at(path());
        auto const to_device = owner->end_of<detail::RingToDeviceLayout>(
            "orders", ObjectKind::ring_to_device, detail::message_type<Ask>());
        auto const to_host = owner->end_of<detail::RingToHostLayout>(
            "fills", ObjectKind::ring_to_host, detail::message_type<Ask>());
        Ask any{};
        for (unsigned i = 0; i < rounds; ++i) {
            scribble(to_device.lent_by.lease(), random);
            scribble(to_host.lent_by.lease(), random);
            (void)in.try_pop(any);
            (void)out.try_push(any);
        }
    }
    await_clients(0);
    Ask rest{};
    for (unsigned i = 0; i < 4 * tries_between_leases; ++i) {
        (void)in.try_pop(rest);
        (void)out.try_push(rest);
    }
    Connection const owner = connect();
    auto to_device = owner.ring<Ask, Direction::to_device>("orders");
    auto to_host = owner.ring<Ask, Direction::to_host>("fills");
    to_device.push({6}, patience);
    EXPECT_EQ(next_message(in), 6U);
    EXPECT_TRUE(eventually([&] { return out.try_push({7}); }));
    EXPECT_EQ(to_host.pop(patience).value, 7U);
}

TEST_P(HostileObjectsTest, garbageInChunksAndLiesAboutTheirSizes) {
    Chunks const shared(device(), {.chunk_bytes = chunk_bytes, .chunks = 4});
    server().add("ticks", shared);
    auto end = shared.device_handle();
    std::mt19937_64 random(3);
    {
        auto const lent = session_at(path())->end_of<detail::ChunkRingLayout>(
            "ticks", ObjectKind::chunk_ring, detail::message_type<std::uint64_t>(1));
        RingView const& ring = lent.view.ring;
        Sequence next = ring.first;
        for (unsigned i = 0; i < rounds; ++i) {
            scribble(lent.lent_by.lease(), random);
            // Whole lines too, of any size, some of which are said to be dropped.
            detail::ChunkState const lie{static_cast<std::uint32_t>(random()),
                                         static_cast<std::uint32_t>(random() % 2)};
            *ring.slot(next) = pack(detail::ChunkMessage<std::uint64_t>{lie, 0}, tag_of(next));
            ++next;
            ChunkView<std::uint64_t> chunk{};
            if (!end.try_take(chunk)) continue;
            ASSERT_LE(chunk.size, chunk_bytes);
            scribble(lent.lent_by.lease(), random);
            (void)end.release(chunk.sequence);
        }
    }
    await_clients(0);
    ChunkView<std::uint64_t> rest{};
    for (unsigned i = 0; i < 4 * tries_between_leases; ++i) {
        if (end.try_take(rest)) (void)end.release(rest.sequence);
    }
    Connection const owner = connect();
    owner.chunk_ring<std::uint64_t>("ticks").claim(patience).commit(8, 9);
    EXPECT_EQ(next_chunk(end).meta, 9U);
}

// Takes messages, and checks that each client's numbers go on by one, from 1 on.
struct LedgerBody {
    SharedRing<Ask, Direction::to_device>::DeviceEnd orders;
    std::uint64_t* words;  // stop; the sum of what was right; 1 where something was not

    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t last = 0;
        DeviceNear const near;
        DeviceFar const far;
        DeviceClock clock;
        for (std::uint32_t i = 0; near.load_word(words) == 0; clock.idle(++i)) {
            Ask order{};
            while (orders.try_pop(order)) {
                if (order.value != 1 && order.value != last + 1) far.store_word(words + 2, 1);
                last = order.value;
                far.store_word(words + 1, last);
            }
        }
    }
};

TEST_P(SharedObjectsTest, clientsThatAreKilledLeaveNoGapAndNoEcho) {
    SharedRing<Ask, Direction::to_device> const shared(device(), {.capacity = 16});
    server().add("orders", shared);
    Memory const words = device().allocate_host(3 * sizeof(std::uint64_t));
    auto* const host = static_cast<std::uint64_t*>(words.host_ptr());
    RunningKernel const kernel =
        launch(device(), 1,
               LedgerBody{shared.device_handle(), static_cast<std::uint64_t*>(words.device_ptr())});
    std::mt19937 random(4);
    for (unsigned i = 0; i < 12; ++i) {
        // 1. C pushes 1, 2, 3 and so on. 2. It is killed. 3. The next one begins anew.
        Process client({"push-for-ever", path()});
        ASSERT_EQ(client.line(), "pushes");
        EXPECT_TRUE(eventually([&] { return std::atomic_ref(host[1]).load() > random() % 500; }));
        EXPECT_TRUE(client.kill());
        await_clients(0);
    }
    std::atomic_ref(host[0]).store(1);
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_EQ(std::atomic_ref(host[2]).load(), 0U);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// The owner counts the requests and replies of other processes' channels. P is the owner, this
// process; C is the client. A third connection asks for the counts.
#include <gtest/gtest.h>

#include <cstdint>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class IpcCountersTest : public WithKernel<> {
   protected:
    static constexpr std::uint32_t counted_slots = 8;

    IpcCountersTest() : WithKernel({.blocks = 1, .capacity = counted_slots}) {}

    [[nodiscard]] ServedBlock block() const {
        Connection const watcher = connect({.name = "watcher", .timeout = patience});
        return watcher.status().objects.at(0).blocks.at(0);
    }
    [[nodiscard]] bool nobody_left() const {
        return eventually([&] { return block().client.empty(); });
    }
};

TEST_F(IpcCountersTest, whatPReadsIsWhatCDid) {
    // 1. C attaches and waits: nothing has gone through.
    Process client = attached({"call", path(), "100", "wait"});
    EXPECT_NE(block().client, "");
    EXPECT_EQ(block().counters.submitted, 0U);
    // 2. C calls, and goes. 3. Its counts are added to those of the clients that have gone.
    client.tell("call");
    EXPECT_EQ(client.status(), 0);
    ASSERT_TRUE(nobody_left());
    ServedBlock const after = block();
    EXPECT_EQ(after.counters.submitted, 0U);
    EXPECT_EQ(after.gone.submitted, 100U);
    EXPECT_EQ(after.gone.answered, 100U);
    EXPECT_EQ(after.gone.taken, 100U);
    EXPECT_EQ(after.gone.dropped, 0U);
    EXPECT_EQ(after.gone.stalls, 0U);
    EXPECT_TRUE(eventually([&] { return block().beats.seen > after.beats.seen; }));
}

TEST_F(IpcCountersTest, whatNobodyTookIsDroppedWhenItsClientIsKilled) {
    // 1. C sends as many requests as there is room for, and takes nothing. P answers all of them.
    Process client = attached({"leave-replies", path()});
    EXPECT_TRUE(eventually([&] { return block().counters.answered == counted_slots; }));
    ServedBlock const before = block();
    EXPECT_EQ(before.counters.submitted, counted_slots);
    // A client that meets a full ring stores a reply that has come by then elsewhere: it has left
    // the ring.
    std::uint64_t const left = before.counters.taken;
    EXPECT_LE(left, 1U);
    EXPECT_EQ(before.counters.depth, counted_slots - left);
    EXPECT_EQ(before.counters.stalls, 1U);
    EXPECT_EQ(before.counters.dropped, 0U);
    // 2. C is killed. 3. Its replies are dropped.
    EXPECT_TRUE(client.kill());
    ASSERT_TRUE(nobody_left());
    EXPECT_EQ(block().gone.submitted, counted_slots);
    EXPECT_EQ(block().gone.dropped, counted_slots - left);
    // 4. Another is counted from nothing.
    Connection const next = connect();
    auto channel = next.channel<Ask, Told>();
    EXPECT_EQ(channel.call({2}, patience).twice, 4U);
    EXPECT_EQ(block().counters.submitted, 1U);
    EXPECT_EQ(channel.counters().submitted, 1U);
    EXPECT_EQ(block().gone.submitted, counted_slots);
}

// A count that no client of the library writes ends the lease: hostile_test.cpp.
TEST_F(IpcCountersTest, hostileCountersAreShownAndNotBelieved) {
    {
        // 1. C writes anything into its counters. 2. P shows that, and serves C all the same.
        auto const session = session_at(path());
        auto const leased = lease_of(*session);
        Channel<Ask, Told> channel(leased);
        CounterWords::store(leased.counters->stalls, ~0ULL);
        CounterWords::store(leased.counters->dropped, ~0ULL);
        EXPECT_EQ(channel.call({5}, patience).twice, 10U);
        Sequence const before = leased.view.replies.first - 1;
        std::uint64_t const values[] = {before + 3, 1ULL << 63U, ~0ULL - counted_slots};
        for (std::uint64_t const taken : values) {
            for (std::uint64_t under_way = 0; under_way <= counted_slots; ++under_way) {
                CounterWords::store(leased.counters->submitted, taken + under_way);
                CounterWords::store(leased.counters->taken, taken);
                ServedBlock const seen = block();
                EXPECT_EQ(seen.counters.submitted, taken + under_way - before);
                EXPECT_EQ(seen.counters.taken, taken - before);
                EXPECT_EQ(seen.counters.depth, under_way);
                EXPECT_EQ(seen.counters.stalls, ~0ULL);
            }
        }
        EXPECT_NE(block().client, "");
    }
    // 3. C goes; its block serves another client, whose counts begin at zero.
    ASSERT_TRUE(nobody_left());
    Process next = attached({"call", path(), "10"});
    EXPECT_EQ(next.line(), "first 1");
    EXPECT_EQ(next.status(), 0);
}

}  // namespace
}  // namespace carillon::test

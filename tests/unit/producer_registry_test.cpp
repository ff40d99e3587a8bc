// SPDX-License-Identifier: Apache-2.0
// The producers of an MPMC ring: threads that come, go, and die.
#include "carillon/detail/host/life_registry.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "carillon/mpmc_ring.hpp"
#include "support/expect_error.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using detail::ProducerRegistry;
using MpmcToDevice = MpmcRing<Whole, Direction::to_device>;
using MpmcToHost = MpmcRing<Whole, Direction::to_host>;

template <class Body>
void on_thread(Body const& body) {
    std::thread(body).join();
}

TEST(ProducerRegistryTest, recordsAreHandedOutUpToTheLimitAndAgain) {
    MpmcRingSlots ring(4, 1);
    ProducerRegistry registry(ring.record(0), 2);
    unsigned const one = registry.try_enter().value();
    unsigned const other = registry.try_enter().value();
    EXPECT_NE(one, other);
    EXPECT_EQ(registry.try_enter(), std::nullopt);
    registry.leave(one);
    EXPECT_EQ(registry.record(registry.try_enter().value()), registry.record(one));
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 0U);
}

TEST(ProducerRegistryTest, threadThatEndedAtAClaimIsFoundAndItsClaimGivenUp) {
    MpmcRingSlots ring(8, 2);
    ProducerRegistry registry(ring.record(0), 2);
    on_thread([&] {
        unsigned const index = registry.try_enter().value();
        Claimer claimer(ring.view(), HostCached(), ClaimRecord(registry.record(index)));
        EXPECT_EQ(claimer.try_claim(3, 3).count, 3U);
    });
    auto living = mpmc_producer<Whole>(ring, registry.try_enter().value());
    ASSERT_TRUE(living.try_push(Whole::make(1)));
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 0U);
    MpmcTestConsumer<Whole> consumer(ring.view());
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 1));
    EXPECT_EQ(taken.numbers[0], 4U);
    EXPECT_EQ(consumer.skipped(), 3U);
    EXPECT_NO_THROW((void)registry.try_enter().value()) << "its record is free again";
}

TEST(ProducerRegistryTest, threadThatEndedBetweenItsClaimAndTheRecordIsFound) {
    MpmcRingSlots ring(8, 2);
    ProducerRegistry registry(ring.record(0), 2);
    on_thread([&] {
        ClaimRecord(registry.record(registry.try_enter().value())).claiming(HostCached());
        *ring.view().claimed = 2;
    });
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    EXPECT_EQ(ring.view().given_up[1], 2U);
    EXPECT_EQ(registry.record(0)->begin, ProducerRecord::none);
}

// Another thread releases the dead thread's end: the claim must still be found.
TEST(ProducerRegistryTest, claimOfTheDeadIsGivenUpThoughAnotherThreadLetGo) {
    MpmcRingSlots ring(8, 2);
    ProducerRegistry registry(ring.record(0), 2);
    unsigned index = 0;
    on_thread([&] {
        index = registry.try_enter().value();
        Claimer claimer(ring.view(), HostCached(), ClaimRecord(registry.record(index)));
        (void)claimer.try_claim(1, 1);
    });
    registry.leave(index);
    EXPECT_NE(registry.record(registry.try_enter().value()), registry.record(index));
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    EXPECT_EQ(ring.view().given_up[0], 1U);
}

// The record of the dead thread has a new owner by the time that its end is released.
TEST(ProducerRegistryTest, endOfTheDeadThatIsLetGoLateLeavesTheNextOwnerItsRecord) {
    MpmcRingSlots ring(8, 2);
    ProducerRegistry registry(ring.record(0), 2);
    unsigned old = 0;
    on_thread([&] { old = registry.try_enter().value(); });
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    unsigned const next = registry.try_enter().value();
    ASSERT_EQ(registry.record(next), registry.record(old));
    on_thread([&] { registry.leave(old); });
    registry.leave(old);

    // Its owner lives, so its claim is not given up together with the claim of a dead thread.
    Claimer living(ring.view(), HostCached(), ClaimRecord(registry.record(next)));
    EXPECT_EQ(living.try_claim(1, 1).count, 1U);
    on_thread([&] {
        Claimer dying(ring.view(), HostCached(),
                      ClaimRecord(registry.record(registry.try_enter().value())));
        EXPECT_EQ(dying.try_claim(1, 1).count, 1U);
    });
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    EXPECT_EQ(ring.view().given_up[0], 0U);
    EXPECT_EQ(ring.view().given_up[1], 2U);
    living.done();
    registry.leave(next);
    EXPECT_NE(registry.try_enter().value(), next);
}

TEST(ProducerRegistryTest, nothingIsGivenUpWhileALivingThreadIsClaimingAndThenAll) {
    MpmcRingSlots ring(8, 2);
    ProducerRegistry registry(ring.record(0), 2);
    ClaimRecord const living(registry.record(registry.try_enter().value()));
    on_thread([&] {
        Claimer claimer(ring.view(), HostCached(),
                        ClaimRecord(registry.record(registry.try_enter().value())));
        (void)claimer.try_claim(1, 1);
    });
    living.claiming(HostCached());
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 0U);
    EXPECT_EQ(ring.view().given_up[0], 0U);
    living.done(HostCached());
    EXPECT_EQ(registry.recover(ring.view(), cached_stores, HostCached()), 1U);
    EXPECT_EQ(ring.view().given_up[0], 1U);
}

TEST(MpmcRingObjectTest, optionsThatMakeNoRingAreRefused) {
    Device const device = Device::open("emulated");
    CARILLON_EXPECT_ERROR(MpmcToDevice(device, {.capacity = 12}), UsageError, "12");
    CARILLON_EXPECT_ERROR(MpmcToDevice(device, {.capacity = 8, .stripe = 3}), UsageError,
                          "a stripe of 3");
    CARILLON_EXPECT_ERROR(MpmcToDevice(device, {.capacity = 8, .stripe = 8}), UsageError,
                          "half the capacity, 8");
    CARILLON_EXPECT_ERROR(MpmcToDevice(device, {.capacity = 8, .stripe = 0}), UsageError,
                          "a stripe of 0");
    CARILLON_EXPECT_ERROR(
        MpmcToDevice(device, {.capacity = 8, .stripe = 4, .for_tests = {.first = 4}}), UsageError,
        "number, 4,");
    CARILLON_EXPECT_ERROR(
        MpmcToDevice(device, {.capacity = 8, .stripe = 4, .for_tests = {.first = 0}}), UsageError,
        "a first number of 0");
    CARILLON_EXPECT_ERROR(MpmcToDevice(device, {.capacity = 8, .stripe = 4, .producers = 0}),
                          UsageError, "0 sending threads");
    // A warp's 32 messages would never have room.
    CARILLON_EXPECT_ERROR(MpmcToHost(device, {.capacity = 32, .stripe = 2}), UsageError,
                          "for a warp's 32");
    EXPECT_NO_THROW(MpmcToHost(device, {.capacity = 32, .stripe = 1}));
}

TEST(MpmcRingObjectTest, producersAreLimitedAndTakeEachOthersPlace) {
    MpmcToDevice const ring(Device::open("emulated"), {.capacity = 8, .stripe = 2, .producers = 1});
    {
        auto const producer = ring.producer();
        CARILLON_EXPECT_ERROR(ring.producer(), UsageError, "MpmcRing::producer");
    }
    on_thread([&] { EXPECT_NO_THROW((void)ring.producer()); });
    auto moved = ring.producer();
    auto const producer = std::move(moved);
    CARILLON_EXPECT_ERROR(ring.producer(), UsageError, "all 1 producers");
}

TEST(MpmcRingObjectTest, fullRingTimesOutAndThenTakesTheMessage) {
    MpmcToDevice ring(Device::open("emulated"), {.capacity = 4, .stripe = 2});
    auto producer = ring.producer();
    std::array<Whole, 6> messages{};
    for (std::size_t i = 0; i < messages.size(); ++i) messages[i] = Whole::make(i);
    EXPECT_EQ(producer.try_push_n(messages), 4U);
    EXPECT_THROW(producer.push(messages[4], std::chrono::milliseconds(3)), TimeoutError);
    auto consumer = ring.device_handle();
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 4));
    producer.push(messages[4], std::chrono::seconds(30));
    ASSERT_TRUE(taken.poll(consumer, 5));
    EXPECT_EQ(taken.messages.back(), Whole::make(4));
}

// A thread that leaks its end, as one that is killed does, and a ring that others fill.
TEST(MpmcRingObjectTest, ringGoesOnWhenAThreadEndsWithoutLettingGo) {
    MpmcToDevice ring(Device::open("emulated"), {.capacity = 4, .stripe = 2, .producers = 2});
    std::unique_ptr<HostMpmcProducer<Whole>> leaked;
    on_thread([&] {
        leaked = std::make_unique<HostMpmcProducer<Whole>>(ring.producer());
        EXPECT_TRUE(leaked->try_push(Whole::make(0)));
    });
    auto producer = ring.producer();
    EXPECT_EQ(ring.recover(), 1U);
    EXPECT_TRUE(producer.try_push(Whole::make(1)));
    auto consumer = ring.device_handle();
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 2));
    EXPECT_EQ(taken.messages[0], Whole::make(0)) << "what it had written arrives";
    EXPECT_EQ(consumer.skipped(), 0U);

    auto const next = ring.producer();
    leaked.reset();
    CARILLON_EXPECT_ERROR(ring.producer(), UsageError, "all 2 producers");
}

// This needs no call of recover().
TEST(MpmcRingObjectTest, nextProducerHasTheRoomOfOneThatDied) {
    MpmcToDevice const ring(Device::open("emulated"), {.capacity = 4, .stripe = 2, .producers = 1});
    std::unique_ptr<HostMpmcProducer<Whole>> leaked;
    on_thread([&] { leaked = std::make_unique<HostMpmcProducer<Whole>>(ring.producer()); });
    auto producer = ring.producer();
    EXPECT_TRUE(producer.try_push(Whole::make(1)));
    CARILLON_EXPECT_ERROR((void)leaked->try_push(Whole::make(7)), UsageError,
                          "the thread that made this producer has ended");
    leaked.reset();
    EXPECT_TRUE(producer.try_push(Whole::make(2)));
    auto const moved = std::move(producer);
    EXPECT_TRUE(moved.has_place());
    EXPECT_FALSE(producer.has_place());  // NOLINT(bugprone-use-after-move): what is left of it
}

// The maker's thread lives on: the room must not wait for that thread's end.
TEST(MpmcRingObjectTest, endThatAnotherThreadLetsGoOfLeavesItsRoom) {
    MpmcToDevice const ring(Device::open("emulated"), {.capacity = 4, .stripe = 2, .producers = 2});
    for (int i = 0; i < 10; ++i) {
        auto mine = std::make_unique<HostMpmcProducer<Whole>>(ring.producer());
        auto other = std::make_unique<HostMpmcProducer<Whole>>(ring.producer());
        EXPECT_EQ(mine->index() + other->index(), 1U);
        on_thread([&] {
            mine.reset();
            other.reset();
        });
    }
    auto const mine = ring.producer();
    on_thread([&] { EXPECT_NO_THROW((void)ring.producer()); });
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// The ends of a warp, with a few threads in lock step for its lanes.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"
#include "support/thread_lanes.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// Lanes that outnumber the lines of a stripe, that divide them and that do not.
TEST(MpmcLanesTest, lanesShareTheLinesOfAStripeOut) {
    constexpr std::uint64_t count = 24;
    for (unsigned const lanes : {2U, 3U}) {
        for (std::uint32_t const stripe : {2U, 8U}) {
            MpmcRingSlots ring(16, stripe);
            std::mutex mutex;
            std::vector<Sequence> taken;
            std::atomic<bool> wrong{false};
            run_lanes(lanes, [&](ThreadLanes const& lane) {
                auto producer = mpmc_producer<Whole>(ring);
                MpmcConsumer<Whole, DeviceNear, DeviceFar, ThreadLanes> consumer(
                    ring.view(), DeviceNear(), DeviceFar(), lane);
                std::uint64_t pushed = 0;
                for (std::uint64_t got = 0; got != count;) {
                    if (lane.thread_rank() == 0) {
                        while (pushed != count && producer.try_push(Whole::make(pushed + 1))) {
                            ++pushed;
                        }
                    }
                    std::uint64_t mine = 0;
                    bool const any = consumer.poll([&](Whole const& message, Sequence number) {
                        std::lock_guard const lock(mutex);
                        if (message != Whole::make(number)) wrong = true;
                        if ((number - 1) % stripe % lanes != lane.thread_rank()) wrong = true;
                        taken.push_back(number);
                        ++mine;
                    });
                    if (mine != 0 && !any) wrong = true;
                    std::uint64_t size = 0;
                    {
                        std::lock_guard const lock(mutex);
                        size = taken.size();
                    }
                    got = lane.broadcast(size);
                }
            });
            EXPECT_FALSE(wrong);
            EXPECT_EQ(taken.size(), count);
            EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), count);
            for (std::uint64_t const credit : ring.credits()) EXPECT_GT(credit, count - 16);
        }
    }
}

// Catches a lane that skips a line which has not arrived, for lines behind it.
TEST(MpmcLanesTest, laneWaitsForTheNextOfItsLines) {
    constexpr std::uint32_t stripe = 8;
    for (Sequence missing = 1; missing <= stripe; ++missing) {
        MpmcRingSlots ring(16, stripe);
        for (Sequence n = 1; n <= stripe; ++n) {
            if (n != missing) *ring.view().slot(n) = pack(Whole::make(n), tag_of(n));
        }
        std::atomic<bool> wrong{false};
        run_lanes(2, [&](ThreadLanes const& lane) {
            MpmcConsumer<Whole, DeviceNear, DeviceFar, ThreadLanes> consumer(
                ring.view(), DeviceNear(), DeviceFar(), lane);
            Sequence next = 1 + lane.thread_rank();
            auto const use = [&](Whole const& message, Sequence number) {
                if (number != next || message != Whole::make(number)) wrong = true;
                next = number + 2;
            };
            for (unsigned i = 0; i < 3; ++i) consumer.poll(use);
            bool const mine = (missing - 1) % 2 == lane.thread_rank();
            if (next != (mine ? missing : stripe + 1 + lane.thread_rank())) wrong = true;
            lane.sync();
            if (mine) *ring.view().slot(missing) = pack(Whole::make(missing), tag_of(missing));
            lane.sync();
            for (unsigned i = 0; i < 3; ++i) consumer.poll(use);
            if (next != stripe + 1 + lane.thread_rank()) wrong = true;
        });
        EXPECT_FALSE(wrong) << missing;
        EXPECT_EQ(ring.credits().front(), stripe);
    }
}

// Catches a lane that takes messages again that it took before the stripe was left, or never takes
// the rest.
TEST(MpmcLanesTest, lanesLeaveWhatEachOfThemHasNotTaken) {
    constexpr std::uint32_t stripe = 8;
    MpmcRingSlots ring(16, stripe);
    auto const send = [&](Sequence n) { *ring.view().slot(n) = pack(Whole::make(n), tag_of(n)); };
    for (Sequence n : {1, 2, 4, 6}) send(n);  // of lane 0 one, of lane 1 three
    std::mutex mutex;
    std::multiset<Sequence> taken;
    run_lanes(2, [&](ThreadLanes const& lane) {
        auto const use = [&](Whole const& /*message*/, Sequence number) {
            std::lock_guard const lock(mutex);
            taken.insert(number);
        };
        using Consumer = MpmcConsumer<Whole, DeviceNear, DeviceFar, ThreadLanes, true>;
        Consumer one(ring.view(), DeviceNear(), DeviceFar(), lane);
        for (unsigned i = 0; i < 3; ++i) one.poll(use);
        one.hand_on();
        if (lane.thread_rank() == 0) {
            for (Sequence n : {3, 5, 7, 8}) send(n);
        }
        lane.sync();
        Consumer next(ring.view(), DeviceNear(), DeviceFar(), lane);
        for (unsigned i = 0; i < 3; ++i) next.poll(use);
    });
    EXPECT_EQ(taken, (std::multiset<Sequence>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(ring.credits().front(), stripe);
}

TEST(MpmcLanesTest, lanesPushTogetherOrNotAtAll) {
    MpmcRingSlots ring(8, 2);
    std::atomic<unsigned> done{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        LanesProducer<Whole, DeviceFar, DeviceNear, ThreadLanes> producer(ring.view(), DeviceFar(),
                                                                          DeviceNear(), lane);
        Whole const message = Whole::make(lane.thread_rank());
        done += producer.try_push(message) ? 1 : 0;                           // 0, 1, 2
        done += producer.try_push(message, lane.thread_rank() != 1) ? 1 : 0;  // 0, 2
        done += producer.try_push(message, false) ? 1 : 0;
        done += producer.try_push(message) ? 1 : 0;  // fills the ring
        done += producer.try_push(message, lane.thread_rank() == 2) ? 100 : 0;
    });
    EXPECT_EQ(done, 12U);
    MpmcTestConsumer<Whole> consumer(ring.view());
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 8));
    std::vector<Whole> expected;
    for (std::uint64_t const lane : {0, 1, 2, 0, 2, 0, 1, 2}) expected.push_back(Whole::make(lane));
    EXPECT_EQ(taken.messages, expected);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// The ends of a ring that the lanes of a warp use together, with threads for the lanes.
#include <gtest/gtest.h>

#include <atomic>

#include "carillon/detail/access/device_near_far.hpp"
#include "support/ring_memory.hpp"
#include "support/thread_lanes.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using ConsumingLanes = Consumer<Whole, DeviceNear, DeviceFar, ThreadLanes>;
using ProducingLanes = Producer<Whole, DeviceFar, DeviceNear, NoDoorbell, ThreadLanes>;

[[nodiscard]] ConsumingLanes consumer_of(RingMemory const& ring, ThreadLanes const& lane) {
    return ConsumingLanes(ring.view(), DeviceNear(), DeviceFar(), lane);
}
[[nodiscard]] ProducingLanes producer_of(RingMemory const& ring, ThreadLanes const& lane) {
    return ProducingLanes(ring.view(), DeviceFar(), DeviceNear(), NoDoorbell(), lane);
}

TEST(RingLanesTest, everyLaneTakesEveryMessage) {
    constexpr std::uint64_t count = 40;
    RingMemory ring(4, just_below_the_tags_wrap);
    std::atomic<bool> wrong{false};
    std::atomic<std::uint64_t> taken{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        auto consumer = consumer_of(ring, lane);
        Producer<Whole, DeviceFar, DeviceNear> producer(ring.view());
        std::uint64_t pushed = 0;
        for (std::uint64_t next = 0; next != count;) {
            while (lane.thread_rank() == 0 && pushed != count &&
                   producer.try_push(Whole::make(pushed))) {
                ++pushed;
            }
            Whole message{};
            if (!consumer.try_pop(message)) continue;
            if (message != Whole::make(next)) wrong = true;
            ++next;
            ++taken;
        }
        consumer.return_held();
    });
    EXPECT_FALSE(wrong);
    EXPECT_EQ(taken, 3 * count);
    EXPECT_EQ(ring.credit(), just_below_the_tags_wrap - 1 + count);
}

// Catches lanes whose numbers diverge, since each takes the lines that it sees by itself.
TEST(RingLanesTest, lineIsTakenByAllLanesOrByNone) {
    RingMemory ring(4);
    RingMemory late(4);  // the ring as one lane sees it
    ring.slot(0) = pack(Whole::make(1), 1);
    std::atomic<int> taken{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        auto consumer = consumer_of(lane.thread_rank() == 1 ? late : ring, lane);
        Whole message{};
        taken += consumer.try_pop(message) ? 1000 : 0;
        lane.sync();
        if (lane.thread_rank() == 1) late.slot(0) = ring.slot(0);
        taken += consumer.try_pop(message) && message == Whole::make(1) ? 1 : 0;
    });
    EXPECT_EQ(taken, 3);
}

TEST(RingLanesTest, lanesStoreTheQuadsOfManyLines) {
    // Fewer quads than lanes and more, and rings that are used again.
    for (std::uint32_t const lines : {1U, 3U, 4U}) {
        RingMemory ring(8, just_below_the_tags_wrap);
        Consumer<Whole, DeviceNear, DeviceFar> consumer(ring.view());
        std::atomic<int> pushed{0};
        std::uint64_t next = 0;
        std::atomic<bool> wrong{false};
        run_lanes(3, [&](ThreadLanes const& lane) {
            auto producer = producer_of(ring, lane);
            for (std::uint64_t round = 0; round != 6; ++round) {
                pushed += producer.try_push_quads(
                    lines, [&](std::size_t i) { return QuadWords::make(round * lines, i); });
                lane.sync();
                Whole message{};
                for (std::uint32_t i = 0; lane.thread_rank() == 0 && i != lines; ++i) {
                    if (!consumer.try_pop(message) || message != Whole::make(next++)) wrong = true;
                }
                if (lane.thread_rank() == 0) consumer.return_held();
                lane.sync();
            }
        });
        EXPECT_FALSE(wrong) << lines;
        EXPECT_EQ(pushed, 18) << lines;
    }
}

TEST(RingLanesTest, linesThatDoNotAllFitAreNotPushed) {
    RingMemory ring(4);
    std::atomic<int> pushed{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        auto producer = producer_of(ring, lane);
        auto const words_of = [](std::size_t i) { return QuadWords::make(1, i); };
        pushed += producer.try_push_quads(5, words_of) ? 1000 : 0;
        pushed += producer.try_push_quads(3, words_of) ? 1 : 0;
        pushed += producer.try_push_quads(2, words_of) ? 1000 : 0;
        pushed += producer.try_push(Whole::make(4), OutOfLine::written) ? 1 : 0;
        pushed += producer.try_push(Whole::make(5)) ? 1000 : 0;
        pushed += producer.was_full() ? 10 : 0;
    });
    EXPECT_EQ(pushed, 36);
    Consumer<Whole, DeviceNear, DeviceFar> consumer(ring.view());
    for (std::uint64_t number = 1; number <= 4; ++number) {
        Whole message{};
        ASSERT_TRUE(consumer.try_pop(message));
        EXPECT_EQ(message, Whole::make(number));
    }
}

// Catches a lane that goes by the room that it alone has seen.
TEST(RingLanesTest, thereIsRoomWhenEveryLaneHasSeenIt) {
    RingMemory ring(4);
    std::uint64_t late_credit = 0;  // what one lane sees of the ring's
    std::atomic<int> pushed{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        RingView view = ring.view();
        if (lane.thread_rank() == 2) view.credit = &late_credit;
        ProducingLanes producer(view, DeviceFar(), DeviceNear(), NoDoorbell(), lane);
        for (std::uint64_t number = 1; number <= 4; ++number) {
            pushed += producer.try_push(Whole::make(number)) ? 1 : 0;
        }
        lane.sync();
        if (lane.thread_rank() == 0) ring.credit() = 4;
        lane.sync();
        pushed += producer.try_push(Whole::make(5)) ? 1000 : 0;
        if (lane.thread_rank() == 2) late_credit = 4;
        lane.sync();
        pushed += producer.try_push(Whole::make(5)) ? 1 : 0;
    });
    EXPECT_EQ(pushed, 15);
}

}  // namespace
}  // namespace carillon::test

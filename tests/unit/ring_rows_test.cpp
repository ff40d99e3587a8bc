// SPDX-License-Identifier: Apache-2.0
// Messages that are taken and put in a row, as a kernel does.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

constexpr std::uint32_t most = 4;
using Plain = Producer<Whole, DeviceFar, DeviceNear>;
using Bulk = Producer<Whole, DeviceBulkFar, DeviceNear>;
using RowConsumer = Consumer<Whole, DeviceNear, DeviceFar>;

// The messages of one row, in their order.
template <std::uint32_t longest = most>
std::vector<Whole> take_one_row(RowConsumer& consumer, std::uint32_t count) {
    std::vector<Whole> taken;
    auto const take = [&](std::uint32_t i, auto& message) {
        EXPECT_EQ(i, taken.size());
        taken.push_back(unpack<Whole>(message));
    };
    std::uint32_t const said = consumer.try_consume_row<longest>(count, take);
    EXPECT_EQ(said, taken.size());
    return taken;
}
// Takes at most `count` or `most` messages; where the ring begins anew, by a second row.
std::vector<Whole> take_row(RowConsumer& consumer, std::uint32_t count) {
    count = std::min(count, most);
    std::vector<Whole> taken = take_one_row(consumer, count);
    if (!taken.empty() && (consumer.next() - 1) % consumer.capacity() == 0) {
        auto const more = take_row(consumer, count - static_cast<std::uint32_t>(taken.size()));
        taken.insert(taken.end(), more.begin(), more.end());
    }
    return taken;
}

std::vector<Whole> wholes(std::uint64_t first, std::uint64_t count) {
    std::vector<Whole> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(Whole::make(first + i));
    return messages;
}

// Stages messages in one row, or in two where the ring begins anew.
template <class End>
void put_row(End& producer, std::uint64_t first, std::uint32_t count) {
    while (count != 0) {
        std::uint32_t const row = producer.room_in_a_row(count);
        ASSERT_NE(row, 0U);
        for (std::uint32_t i = 0; i < row && i < count; ++i) {
            producer.template stage<most>(i, pack(Whole::make(first + i), 99));
        }
        std::uint32_t const now = std::min(row, count);
        producer.template put_staged<most>(now);
        first += now;
        count -= now;
    }
}

TEST(RingRowsTest, rowsHoldWhatRegistersDo) {
    using carillon::detail::row_of;
    EXPECT_EQ((row_of<SizedBytes<24>>), 16U);
    EXPECT_EQ((row_of<SizedBytes<24>, SizedBytes<25>>), 8U);
    EXPECT_EQ((row_of<SizedBytes<48>, SizedBytes<8>>), 8U);
    EXPECT_EQ((row_of<SizedBytes<49>, SizedBytes<8>>), 1U);
    EXPECT_EQ((row_of<SizedBytes<8>, SizedBytes<49>>), 1U);
}

TEST(RingRowsTest, rowEndsWhereNothingHasArrived) {
    RingMemory ring(8);
    Plain producer(ring.view());
    RowConsumer consumer(ring.view());
    EXPECT_TRUE(take_row(consumer, most).empty());
    for (std::uint64_t arrived = 0; arrived <= most; ++arrived) {
        for (std::uint64_t i = 0; i < arrived; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
        EXPECT_EQ(take_row(consumer, most), wholes(0, arrived));
        EXPECT_TRUE(take_row(consumer, most).empty());
        consumer.return_held();
    }
}

// Catches a row that goes on behind a hole: its messages would come out of order.
TEST(RingRowsTest, whatComesBehindAHoleIsLeft) {
    RingMemory ring(8);
    RowConsumer consumer(ring.view());
    ring.slot(0) = pack(Whole::make(1), 1);
    ring.slot(2) = pack(Whole::make(3), 3);
    ring.slot(1) = pack(Whole::make(2), 2);
    for (std::size_t missing = 0; missing < quads_per_line; ++missing) {
        Line const whole = ring.slot(1);
        RowConsumer another(ring.view());
        ring.slot(1).quads[missing] = with_tag(whole, tag_of(Sequence{2} - 8)).quads[missing];
        EXPECT_EQ(take_row(another, most), wholes(1, 1)) << missing;
        ring.slot(1) = whole;
        EXPECT_EQ(take_row(another, most), wholes(2, 2)) << missing;
    }
}

TEST(RingRowsTest, noMoreAreTakenThanWanted) {
    RingMemory ring(8);
    Plain producer(ring.view());
    RowConsumer consumer(ring.view());
    for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    EXPECT_TRUE(take_row(consumer, 0).empty());
    EXPECT_EQ(take_row(consumer, 3), wholes(0, 3));
    EXPECT_EQ(take_row(consumer, 1), wholes(3, 1));
    EXPECT_EQ(take_row(consumer, 100), wholes(4, most));
    EXPECT_TRUE(take_row(consumer, most).empty());
}

TEST(RingRowsTest, longRowTakesAllThatHaveArrived) {
    for (std::uint64_t arrived = 0; arrived <= 16; ++arrived) {
        for (std::uint64_t torn = 0; torn <= arrived; ++torn) {
            RingMemory ring(32);
            RowConsumer consumer(ring.view());
            for (std::uint64_t i = 0; i < arrived; ++i) {
                ring.slot(i) = pack(Whole::make(i), tag_of(Sequence{i + 1}));
            }
            if (torn != 0) ring.slot(torn - 1).quads[0] = {};
            std::uint64_t const whole = torn == 0 ? arrived : torn - 1;
            EXPECT_EQ(take_one_row<16>(consumer, 16), wholes(0, whole)) << arrived << ", " << torn;
            EXPECT_EQ(consumer.next(), whole + 1);
        }
    }
}

// Catches a row that looks at memory behind the ring.
TEST(RingRowsTest, rowEndsWithTheRing) {
    RingMemory ring(8);
    Plain producer(ring.view());
    RowConsumer consumer(ring.view());
    for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    EXPECT_EQ(take_one_row<16>(consumer, 16), wholes(0, 6));
    consumer.return_held();
    for (std::uint64_t i = 6; i < 14; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    EXPECT_EQ(take_one_row<16>(consumer, 16), wholes(6, 2));
    EXPECT_EQ(take_one_row<16>(consumer, 16), wholes(8, 6));
}

// Messages of the lap before are not taken.
TEST(RingRowsTest, rowsGoOnAtTheFirstSlotAndThroughTheWrapOfTheTags) {
    for (std::uint32_t const capacity : {2U, 4U, 8U}) {
        RingMemory ring(capacity, just_below_the_tags_wrap);
        Plain producer(ring.view());
        RowConsumer consumer(ring.view());
        std::uint64_t in = 0;
        std::uint64_t out = 0;
        for (std::uint32_t round = 0; round < 60; ++round) {
            std::uint32_t const now = 1 + round % 3;
            for (std::uint32_t i = 0; i < now && producer.try_push(Whole::make(in)); ++i) ++in;
            auto const taken = take_row(consumer, most);
            ASSERT_EQ(taken, wholes(out, taken.size()));
            out += taken.size();
            ASSERT_EQ(out, in);
            if (round % 5 == 0) consumer.return_held();
        }
        consumer.return_held();
        EXPECT_EQ(ring.credit(), just_below_the_tags_wrap - 1 + out);
    }
}

// Catches a message that is delivered again, or others that are lost, where a use throws.
TEST(RingRowsTest, thoseBeforeAndTheOneWhoseUseThrowsAreTaken) {
    for (std::uint32_t bad = 0; bad < most; ++bad) {
        RingMemory ring(8);
        Plain producer(ring.view());
        RowConsumer consumer(ring.view());
        for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
        std::uint32_t used = 0;
        EXPECT_THROW(consumer.try_consume_row<most>(most,
                                                    [&](std::uint32_t i, Line const& line) {
                                                        EXPECT_EQ(unpack<Whole>(line),
                                                                  Whole::make(used++));
                                                        if (i == bad) throw std::domain_error("");
                                                    }),
                     std::domain_error);
        EXPECT_EQ(used, bad + 1);
        EXPECT_EQ(consumer.next(), bad + 2);
        auto const left = take_row(consumer, most);
        EXPECT_EQ(left, wholes(bad + 1, std::min<std::uint64_t>(most, 5 - bad)));
    }
}

// Puts lines aside until they leave together, as a GPU does; a CPU thread in its place need not.
struct DeferringFar : DeviceFar {
    template <std::size_t longest>
    void stage(Line* to, std::uint32_t i, Line const& line, std::size_t /*quads*/) const {
        if (i == 0) first = to;
        EXPECT_EQ(to, first + i);
        aside.at(i) = line;
    }
    template <std::size_t longest>
    void store_staged(Line* to, std::size_t count, std::size_t quads) const {
        EXPECT_EQ(to, first);
        for (std::size_t i = 0; i < count; ++i) store_line(to + i, aside.at(i), 0, quads);
    }

    inline static std::array<Line, most> aside;
    inline static Line* first;
};
using Deferring = Producer<Whole, DeferringFar, DeviceNear>;

template <class End>
class PutRowTest : public testing::Test {};
using Ends = testing::Types<Plain, Bulk, Deferring>;
TYPED_TEST_SUITE(PutRowTest, Ends);

TYPED_TEST(PutRowTest, rowsOfAnyLengthArriveLapAfterLap) {
    RingMemory ring(8, just_below_the_tags_wrap);
    TypeParam producer(ring.view());
    RowConsumer consumer(ring.view());
    std::uint64_t next = 0;
    for (std::uint32_t round = 0; round < 40; ++round) {
        std::uint32_t const count = 1 + round % most;
        ASSERT_GE(producer.room(most), most);
        put_row(producer, next, count);
        EXPECT_EQ(producer.next(), just_below_the_tags_wrap + next + count);
        ASSERT_EQ(take_row(consumer, most), wholes(next, count));
        ASSERT_TRUE(take_row(consumer, most).empty());
        consumer.return_held();
        next += count;
    }
}

TYPED_TEST(PutRowTest, roomIsWhatTheCreditsSay) {
    RingMemory ring(8);
    TypeParam producer(ring.view());
    RowConsumer consumer(ring.view());
    put_row(producer, 0, 4);
    put_row(producer, 4, 3);
    EXPECT_EQ(producer.room(most), 1U);
    put_row(producer, 7, 1);
    EXPECT_EQ(producer.room(most), 0U);
    EXPECT_EQ(take_row(consumer, 3), wholes(0, 3));
    EXPECT_EQ(producer.room(most), 0U);
    consumer.return_held();
    EXPECT_EQ(producer.room(0), 0U);  // no room is asked for: it does not look
    EXPECT_EQ(producer.room(most), 3U);
    put_row(producer, 8, 3);
    EXPECT_EQ(take_row(consumer, most), wholes(3, 4));
    EXPECT_EQ(take_row(consumer, most), wholes(7, 4));
}

// Slots of more lines than a message needs are not side by side.
TYPED_TEST(PutRowTest, rowGoesByTheLinesOfASlot) {
    RingMemory ring(8, 1, 2);
    TypeParam producer(ring.view());
    RowConsumer consumer(ring.view());
    for (std::uint64_t round = 0; round < 6; ++round) {
        put_row(producer, 3 * round, 3);
        EXPECT_EQ(take_row(consumer, most), wholes(3 * round, 3));
        consumer.return_held();
        EXPECT_GE(producer.room(most), most);
    }
}

}  // namespace
}  // namespace carillon::test

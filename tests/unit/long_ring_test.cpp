// SPDX-License-Identifier: Apache-2.0
// A ring of messages of several lines, step by step on one thread, over every pair of access
// policies.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "carillon/detail/protocol/ring_protocol.hpp"
#include "support/accesses.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class LongRingTest : public AccessTest {
   protected:
    // Calls use.operator()<size>() for messages of two lines, of six and of the most there are.
    template <class Use>
    static void for_sizes(Use use) {
        use.template operator()<56>();
        use.template operator()<256>();
        use.template operator()<1024>();
    }
};
INSTANTIATE_TEST_SUITE_P(Over, LongRingTest, testing::ValuesIn(all_accesses()), test_name<Access>);

template <std::size_t size>
void expect_laps(Access const& access, std::uint32_t capacity, Sequence first) {
    using T = SizedBytes<size>;
    RingMemory memory(capacity, first, slot_lines_of<T>);
    auto producer = access.make_producer<T>(memory.view());
    auto consumer = access.make_consumer<T>(memory.view());
    T message{};
    ASSERT_FALSE(consumer.try_pop(message));
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    while (out < 5 * capacity) {
        while (producer.try_push(T::make(in))) ++in;
        ASSERT_EQ(in - out, capacity);
        while (consumer.try_pop(message)) ASSERT_EQ(message, T::make(out++));
        ASSERT_EQ(out, in);
        consumer.return_held();
        ASSERT_EQ(memory.credit(), first - 1 + out);
    }
    EXPECT_EQ(consumer.next(), first + out);
}

TEST_P(LongRingTest, ringWrapsAtItsLastSlotAndTagsAt2To32) {
    for_sizes([]<std::size_t size>() {
        for (std::uint32_t const capacity : {2U, 8U}) {
            for (Sequence const first : {Sequence{1}, Sequence{3}, just_below_the_tags_wrap}) {
                expect_laps<size>(GetParam(), capacity, first);
            }
        }
    });
}

// Catches a batch that takes a slot for a line: it overwrites what it has just stored.
TEST_P(LongRingTest, batchesGoOnAtTheFirstSlotAndStopWhereTheRingIsFull) {
    for_sizes([]<std::size_t size>() {
        using T = SizedBytes<size>;
        RingMemory memory(8, just_below_the_tags_wrap, slot_lines_of<T>);
        auto producer = GetParam().make_producer<T>(memory.view());
        auto consumer = GetParam().make_consumer<T>(memory.view());
        std::vector<T> messages;
        for (std::uint64_t i = 0; i < 60; ++i) messages.push_back(T::make(i));
        std::array<T, 5> taken{};
        std::size_t sent = 0;
        for (std::size_t got = 0; got < messages.size();) {
            sent += producer.try_push_n(messages.data() + sent, messages.size() - sent);
            ASSERT_LE(sent - got, 8U);
            std::size_t const now = consumer.try_pop_n(taken.data(), taken.size());
            ASSERT_NE(now, 0U) << size;
            for (std::size_t i = 0; i < now; ++i) ASSERT_EQ(taken.at(i), messages[got++]) << size;
        }
        EXPECT_EQ(sent, messages.size());
        EXPECT_EQ(consumer.try_pop_n(taken.data(), taken.size()), 0U);
    });
}

TEST_P(LongRingTest, creditCountsMessagesAndNotLines) {
    for_sizes([]<std::size_t size>() {
        using T = SizedBytes<size>;
        RingMemory memory(8, 1, slot_lines_of<T>);
        auto producer = GetParam().make_producer<T>(memory.view());
        auto consumer = GetParam().make_consumer<T>(memory.view());
        for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_TRUE(producer.try_push(T::make(i)));
        EXPECT_TRUE(producer.was_full());
        T message{};
        for (std::uint64_t i = 1; i <= 8; ++i) {
            ASSERT_TRUE(consumer.try_pop(message));
            EXPECT_EQ(message, T::make(i));
            EXPECT_EQ(memory.credit(), (i - 1) / 2 * 2);
        }
        memory.credit() = 1;
        EXPECT_TRUE(producer.try_push(T::make(9)));
        EXPECT_FALSE(producer.try_push(T::make(10)));
    });
}

// Catches a take that goes by the first line, or by the last.
TEST_P(LongRingTest, nothingIsTakenWhileAnyQuadIsMissing) {
    for_sizes([]<std::size_t size>() {
        using T = SizedBytes<size>;
        RingMemory memory(4, 1, slot_lines_of<T>);
        auto consumer = GetParam().make_consumer<T>(memory.view());
        Packed<T> const whole = pack(T::make(5), 1);
        Line* const slot = &memory.slot(0);
        T message = T::make(77);
        for (std::size_t missing = 0; missing < quads_of<T>; ++missing) {
            for (std::size_t i = 0; i < lines_of<T>; ++i) slot[i] = lines_in(whole)[i];
            Line& line = slot[missing / quads_per_line];
            line.quads[missing % quads_per_line] =
                with_tag(line, tag_of(Sequence{1} - 4)).quads[missing % quads_per_line];
            ASSERT_FALSE(consumer.try_pop(message)) << size << ", quad " << missing;
            EXPECT_EQ(message, T::make(77));
        }
        for (std::size_t i = 0; i < lines_of<T>; ++i) slot[i] = lines_in(whole)[i];
        ASSERT_TRUE(consumer.try_pop(message)) << size;
        EXPECT_EQ(message, T::make(5));
        EXPECT_FALSE(consumer.try_pop(message));
    });
}

TEST_P(LongRingTest, packedMessagesAndThoseWhoseUseThrowsAreTakenOnce) {
    for_sizes([]<std::size_t size>() {
        using T = SizedBytes<size>;
        RingMemory memory(4, just_below_the_tags_wrap, slot_lines_of<T>);
        auto producer = GetParam().make_producer<T>(memory.view());
        auto consumer = GetParam().make_consumer<T>(memory.view());
        for (std::uint64_t i = 1; i <= 12; ++i) {
            ASSERT_TRUE(producer.try_put(pack(T::make(i), 0), OutOfLine::written));
            ASSERT_TRUE(consumer.holds(consumer.next()));
            EXPECT_THROW(consumer.try_consume([&](Packed<T> const& packed) {
                EXPECT_EQ(unpack<T>(packed), T::make(i));
                throw std::domain_error("bad");
            }),
                         std::domain_error);
            Packed<T> again{};
            EXPECT_FALSE(consumer.try_take(again));
            EXPECT_TRUE(consumer.holds(consumer.next() - 1));
        }
    });
}

// A ring whose slots have more lines than its messages need, as a ChannelMemory may.
TEST_P(LongRingTest, slotsMayBeLargerThanTheirMessages) {
    using T = SizedBytes<56>;
    RingMemory memory(4, 1, 8);
    auto producer = GetParam().make_producer<T>(memory.view());
    auto consumer = GetParam().make_consumer<T>(memory.view());
    T message{};
    for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(producer.try_push(T::make(i)));
        ASSERT_TRUE(consumer.try_pop(message));
        EXPECT_EQ(message, T::make(i));
    }
}

// Batches through slots that are too large, of messages of one line too.
template <std::size_t size>
void expect_batch_in_large_slots(Access const& access) {
    using T = SizedBytes<size>;
    RingMemory memory(4, 1, 8);
    auto producer = access.make_producer<T>(memory.view());
    auto consumer = access.make_consumer<T>(memory.view());
    std::array<T, 3> const batch{T::make(1), T::make(2), T::make(3)};
    for (int round = 0; round < 8; ++round) {
        ASSERT_EQ(producer.try_push_n(batch.data(), 3), 3U) << size;
        std::array<T, 4> taken{};
        ASSERT_EQ(consumer.try_pop_n(taken.data(), 4), 3U) << size;
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(taken.at(i), batch.at(i)) << size;
        consumer.return_held();
    }
}

TEST_P(LongRingTest, batchesMayGoToSlotsLargerThanTheirMessages) {
    expect_batch_in_large_slots<8>(GetParam());
    expect_batch_in_large_slots<48>(GetParam());
    expect_batch_in_large_slots<56>(GetParam());
}

}  // namespace
}  // namespace carillon::test

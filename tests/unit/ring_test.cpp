// SPDX-License-Identifier: Apache-2.0
// The ring's protocol, step by step on one thread, over every pair of access policies.
#include "carillon/detail/protocol/ring_protocol.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "support/accesses.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class RingProtocolTest : public AccessTest {};
INSTANTIATE_TEST_SUITE_P(Over, RingProtocolTest, testing::ValuesIn(all_accesses()),
                         test_name<Access>);

TEST_P(RingProtocolTest, emptyRingGivesNothing) {
    RingMemory memory(4);
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    EXPECT_FALSE(consumer.try_pop(message));
    EXPECT_EQ(consumer.next(), 1U);
}

// Catches a protocol that needs format_ring, or whose first tag is 0.
TEST_P(RingProtocolTest, zeroedMemoryIsAnEmptyRing) {
    RingMemory memory(4);
    for (std::size_t i = 0; i < 4; ++i) memory.slot(i) = Line{};
    memory.credit() = 0;
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    ASSERT_FALSE(consumer.try_pop(message));
    ASSERT_TRUE(producer.try_push(Whole::make(1)));
    ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_EQ(message, Whole::make(1));
}

TEST_P(RingProtocolTest, messagesComeOutInTheOrderTheyWentIn) {
    RingMemory memory(8);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    for (std::uint64_t i = 0; i < 8; ++i) {
        Whole message{};
        ASSERT_TRUE(consumer.try_pop(message));
        EXPECT_EQ(message, Whole::make(i));
    }
}

TEST_P(RingProtocolTest, fullRingRefusesAndKeepsWhatItHas) {
    RingMemory memory(2);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    ASSERT_TRUE(producer.try_push(Whole::make(1)));
    EXPECT_FALSE(producer.was_full());
    ASSERT_TRUE(producer.try_push(Whole::make(2)));
    EXPECT_TRUE(producer.was_full());
    EXPECT_FALSE(producer.try_push(Whole::make(3)));
    EXPECT_EQ(producer.next(), 3U);
    Whole message{};
    ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_EQ(message, Whole::make(1));
}

// Catches a producer that writes as soon as the consumer has copied the line out, or that
// compares with >= one too few.
TEST_P(RingProtocolTest, producerWritesNoSlotBeforeItsCreditHasCome) {
    RingMemory memory(4);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    for (std::uint64_t credit = 0; credit < 3; ++credit) {
        memory.credit() = credit;
        while (producer.next() <= credit + 4) ASSERT_TRUE(producer.try_push(Whole::make(9)));
        EXPECT_FALSE(producer.try_push(Whole::make(9)));
        EXPECT_EQ(unpack<Whole>(memory.slot(credit)), Whole::make(credit + 1));
    }
}

// Catches a batch that is as long as a damaged credit has room for: it went beyond the slots.
TEST_P(RingProtocolTest, creditThatNoConsumerCanHaveReturnedIsNoMoreRoomThanThereIs) {
    std::vector<Whole> const many(100);
    for (std::uint64_t const credit : {Sequence{0}, Sequence{3}, Sequence{4}, Sequence{1} << 31,
                                       ~Sequence{0}, ~Sequence{0} - 1, Sequence{1} << 63}) {
        SCOPED_TRACE(credit);
        RingMemory memory(4);
        auto producer = GetParam().make_producer<Whole>(memory.view());
        ASSERT_EQ(producer.try_push_n(many.data(), 2), 2U);
        memory.credit() = credit;
        EXPECT_LE(producer.try_push_n(many.data(), many.size()), 4U);
        memory.credit() = producer.next() - 1;
        EXPECT_EQ(producer.try_push_n(many.data(), many.size()), 4U);
    }
}

// Catches a consumer that returns a credit for every line (one bus write each), for lines that it
// has not taken, or that holds back more than a quarter of the ring.
TEST_P(RingProtocolTest, creditComesBackAQuarterOfTheRingAtATime) {
    RingMemory memory(16);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    for (std::uint64_t i = 1; i <= 16; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    Whole message{};
    for (std::uint64_t taken = 1; taken <= 16; ++taken) {
        ASSERT_TRUE(consumer.try_pop(message));
        EXPECT_EQ(memory.credit() % 4, 0U);
        EXPECT_LE(memory.credit(), taken);
        EXPECT_GE(memory.credit() + 4, taken);
    }
}

// Catches a held-back credit that keeps the producer of a nearly full ring waiting for ever.
TEST_P(RingProtocolTest, manyEmptyPollsReturnTheCreditThatIsHeld) {
    RingMemory memory(16);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    ASSERT_TRUE(producer.try_push(Whole::make(1)));
    ASSERT_TRUE(consumer.try_pop(message));
    ASSERT_EQ(memory.credit(), 0U);
    for (std::uint32_t i = 1; i < decltype(consumer)::misses_before_return; ++i) {
        ASSERT_FALSE(consumer.try_pop(message));
        ASSERT_EQ(memory.credit(), 0U) << i;
    }
    ASSERT_FALSE(consumer.try_pop(message));
    EXPECT_EQ(memory.credit(), 1U);
}

// Catches looks in vain that are counted on over a message: a call after the other would write a
// credit each.
TEST_P(RingProtocolTest, aMessageBeginsTheCountOfEmptyPollsAnew) {
    RingMemory memory(16);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    for (std::uint32_t n = 1; n <= 3; ++n) {
        ASSERT_TRUE(producer.try_push(Whole::make(n)));
        ASSERT_TRUE(consumer.try_pop(message));
        for (std::uint32_t i = 1; i < decltype(consumer)::misses_before_return; ++i) {
            ASSERT_FALSE(consumer.try_pop(message));
        }
        EXPECT_EQ(memory.credit(), 0U);
    }
}

// Catches an arrival check on fewer than four tags.
TEST_P(RingProtocolTest, consumerTakesNothingFromAHalfArrivedLine) {
    for (std::size_t missing = 0; missing < quads_per_line; ++missing) {
        RingMemory memory(4);
        auto consumer = GetParam().make_consumer<Whole>(memory.view());
        Line const whole = pack(Whole::make(5), 1);
        Line half = whole;
        half.quads[missing] = memory.slot(0).quads[missing];
        memory.slot(0) = half;
        Whole message = Whole::make(77);
        EXPECT_FALSE(consumer.try_pop(message)) << missing;
        EXPECT_EQ(message, Whole::make(77)) << missing;
        EXPECT_EQ(consumer.next(), 1U) << missing;
        memory.slot(0) = whole;
        ASSERT_TRUE(consumer.try_pop(message)) << missing;
        EXPECT_EQ(message, Whole::make(5)) << missing;
    }
}

// Catches a consumer that takes a slot's line of the lap before again.
TEST_P(RingProtocolTest, lineOfTheLapBeforeIsNotTakenAgain) {
    RingMemory memory(2);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_FALSE(consumer.try_pop(message));
}

void expect_laps(Access const& access, std::uint32_t capacity, Sequence first) {
    RingMemory memory(capacity, first);
    auto producer = access.make_producer<Whole>(memory.view());
    auto consumer = access.make_consumer<Whole>(memory.view());
    Whole message{};
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    while (out < 5 * capacity) {
        while (producer.try_push(Whole::make(in))) ++in;
        ASSERT_EQ(in - out, capacity);
        for (std::uint32_t i = 0; i < capacity - 1; ++i, ++out) {
            ASSERT_TRUE(consumer.try_pop(message));
            ASSERT_EQ(message, Whole::make(out));
        }
        ASSERT_TRUE(consumer.try_pop(message));
        ASSERT_EQ(message, Whole::make(out++));
        ASSERT_FALSE(consumer.try_pop(message));
    }
    EXPECT_EQ(consumer.next(), first + out);
}

// Catches a message that is delivered again, or a credit that is lost, where its use throws.
TEST_P(RingProtocolTest, messageWhoseUseThrowsIsTaken) {
    RingMemory memory(4);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    std::vector<std::uint64_t> used;
    for (std::uint64_t i = 1; i <= 12; ++i) {
        ASSERT_TRUE(producer.try_push(Whole::make(i)));
        auto const use = [&](Line const& line) {
            used.push_back(i);
            EXPECT_EQ(unpack<Whole>(line), Whole::make(i));
            throw std::domain_error("bad");
        };
        EXPECT_THROW(consumer.try_consume(use), std::domain_error);
        EXPECT_EQ(consumer.next(), i + 1);
        EXPECT_EQ(consumer.held(), 1U);
        EXPECT_FALSE(consumer.try_consume(use));
        EXPECT_EQ(memory.credit(), i);
    }
    EXPECT_EQ(used.size(), 12U);
}

// A function that is called in vain may throw too: nothing was taken by then.
TEST_P(RingProtocolTest, callInVainThatThrowsTakesNothing) {
    RingMemory memory(4);
    auto producer = GetParam().make_producer<Whole>(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    auto const in_vain = [] { throw std::domain_error("in vain"); };
    auto const use = [](Line const& /*line*/) {};
    EXPECT_THROW(consumer.try_consume_within(3, in_vain, use), std::domain_error);
    ASSERT_TRUE(producer.try_push(Whole::make(1)));
    EXPECT_TRUE(consumer.try_consume_within(3, in_vain, use));
}

TEST_P(RingProtocolTest, ringWrapsAtItsLastSlot) {
    for (std::uint32_t capacity : {2U, 4U, 64U}) expect_laps(GetParam(), capacity, 1);
}

// Catches a tag compared as a number, or a sequence number kept in 32 bits.
TEST_P(RingProtocolTest, tagsWrapAt2To32) {
    for (std::uint32_t capacity : {2U, 4U, 64U}) {
        expect_laps(GetParam(), capacity, just_below_the_tags_wrap);
    }
}

// Catches an index that is derived from the tag only, or that starts at slot 0 for any `first`.
TEST_P(RingProtocolTest, firstLineMayLieInAnySlot) {
    for (Sequence first = 1; first <= 9; ++first) expect_laps(GetParam(), 4, first);
}

TEST_P(RingProtocolTest, formatMakesAUsedRingEmpty) {
    RingMemory memory(4);
    auto used = GetParam().make_producer<Whole>(memory.view());
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(used.try_push(Whole::make(i)));
    format_ring(memory.view());
    auto consumer = GetParam().make_consumer<Whole>(memory.view());
    Whole message{};
    EXPECT_FALSE(consumer.try_pop(message));
    EXPECT_FALSE(GetParam().make_producer<Whole>(memory.view()).was_full());
}

TEST_P(RingProtocolTest, smallMessageCrossesAsWellAsAFullOne) {
    RingMemory memory(2);
    auto producer = GetParam().make_producer<char>(memory.view());
    auto consumer = GetParam().make_consumer<char>(memory.view());
    ASSERT_TRUE(producer.try_push('x', OutOfLine::written));
    char message = 0;
    ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_EQ(message, 'x');
}

}  // namespace
}  // namespace carillon::test

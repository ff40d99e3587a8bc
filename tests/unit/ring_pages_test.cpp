// SPDX-License-Identifier: Apache-2.0
// Rings in pairs of pages: the places of slots, and the pages that each side writes until the
// choice is known.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "support/paired_ring.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using HostEnd = HostProducer<Whole>;
using DeviceEnd = Consumer<Whole, DeviceNear, DeviceFar, OneThread, ScriptedPages>;
constexpr HostStores plain{StoreKind::cached, PublishMode::one_step};

HostEnd host_end(PairedRing const& ring) { return HostEnd(ring.view(), HostMapped(plain)); }

std::vector<unsigned> drawn(std::size_t pairs) {
    std::mt19937 random(7);
    std::vector<unsigned> all(pairs);
    for (unsigned& each : all) each = random() & 1U;
    return all;
}

struct Shape {
    std::uint32_t capacity;
    std::uint32_t page_shift;
};
// A ring of less than a page, of a page, of several; of a word's 32 pairs, and of 256.
constexpr std::array shapes{Shape{2, 2},  Shape{4, 2},  Shape{8, 1},  Shape{8, 0},
                            Shape{32, 0}, Shape{64, 1}, Shape{256, 0}};

TEST(RingPagesTest, everySlotIsInThePageOfItsPairThatTheWordNames) {
    for (Shape const& shape : shapes) {
        PairedRing ring(shape.capacity, shape.page_shift);
        std::set<Line const*> all;
        for (Sequence s = 1; s <= shape.capacity; ++s) {
            Line* const first = ring.view().slot(s);
            Line* const second = ring.view().slot(s, ~PageWord{0});
            EXPECT_EQ(second - first, 1 << shape.page_shift);
            EXPECT_TRUE(ring.has(first) && ring.has(second)) << s;
            all.insert({first, second});
            EXPECT_EQ(ring.view().slot(s + shape.capacity), first);
        }
        EXPECT_EQ(all.size(), 2 * shape.capacity);
        EXPECT_EQ(ring.view().lines(), ring.lines());
    }
}

// Catches a second page whose zeros look like the line with tag 0.
TEST(RingPagesTest, bothPagesHaveTheTagsOfTheLapBefore) {
    PairedRing ring(8, 1, just_below_the_tags_wrap);
    for (Sequence s = just_below_the_tags_wrap; s != just_below_the_tags_wrap + 8; ++s) {
        EXPECT_TRUE(has_arrived(*ring.view().slot(s), tag_of(s - 8)));
        EXPECT_TRUE(has_arrived(*ring.view().slot(s, ~PageWord{0}), tag_of(s - 8)));
    }
}

TEST(RingPagesTest, lineGoesToBothPagesUntilTheChoiceIsKnownAndThenToTheChosenOne) {
    PairedRing ring(4, 0);
    PairedRing::choices = {1, 0, 1, 0};
    HostEnd producer = host_end(ring);
    DeviceEnd consumer(ring.view());
    ASSERT_TRUE(producer.try_push(Whole::make(1)));
    EXPECT_TRUE(has_arrived(*ring.view().slot(1), 1));
    EXPECT_TRUE(has_arrived(*ring.view().slot(1, ~PageWord{0}), 1));
    Whole message{};
    ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_EQ(message, Whole::make(1));
    EXPECT_EQ(ring.told().at(0), known_pages | 0b0101U);
    for (Sequence s = 2; s <= 4; ++s) {
        ASSERT_TRUE(producer.try_push(Whole::make(s)));
        bool const second = PairedRing::choices.at(s - 1) == 1;
        EXPECT_EQ(has_arrived(*ring.view().slot(s), tag_of(s)), !second) << s;
        EXPECT_EQ(has_arrived(*ring.view().slot(s, ~PageWord{0}), tag_of(s)), second) << s;
    }
}

TEST(RingPagesTest, pagesAreChosenOnceAndBeforeTheFirstLookIfAskedFor) {
    PairedRing ring(64, 1);
    DeviceEnd consumer(ring.view());
    PairedRing::times_chosen = 0;
    EXPECT_EQ(ring.told().at(0), 0U);
    consumer.choose_pages();
    EXPECT_EQ(ring.told().at(0), known_pages);
    Whole message{};
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(consumer.try_pop(message));
    consumer.choose_pages();
    EXPECT_EQ(PairedRing::times_chosen, 32);
}

class RingPagesLapsTest : public testing::TestWithParam<Sequence> {};
INSTANTIATE_TEST_SUITE_P(From, RingPagesLapsTest,
                         testing::Values(1, 100, just_below_the_tags_wrap));

// The consumer chooses when the producer has written some, up to a whole ring, and both go on for
// laps, one message at a time.
TEST_P(RingPagesLapsTest, messagesArriveOverMixedPagesWheneverTheChoiceIsMade) {
    for (Shape const& shape : shapes) {
        for (std::uint32_t ahead : {0U, 1U, shape.capacity / 2, shape.capacity}) {
            PairedRing ring(shape.capacity, shape.page_shift, GetParam());
            PairedRing::choices = drawn(ring.pairs());
            HostEnd producer = host_end(ring);
            DeviceEnd consumer(ring.view());
            std::uint64_t sent = 0;
            for (; sent < ahead; ++sent) ASSERT_TRUE(producer.try_push(Whole::make(sent)));
            Whole message{};
            for (std::uint64_t taken = 0; taken < 3 * shape.capacity; ++taken) {
                if (sent == taken) {
                    consumer.return_held();
                    ASSERT_TRUE(producer.try_push(Whole::make(sent++)));
                }
                ASSERT_TRUE(consumer.try_pop(message)) << shape.capacity << ' ' << taken;
                ASSERT_EQ(message, Whole::make(taken));
                if (producer.try_push(Whole::make(sent))) ++sent;
            }
        }
    }
}

TEST_P(RingPagesLapsTest, batchesArriveOverMixedPages) {
    for (Shape const& shape : shapes) {
        PairedRing ring(shape.capacity, shape.page_shift, GetParam());
        PairedRing::choices = drawn(ring.pairs());
        HostEnd producer = host_end(ring);
        DeviceEnd consumer(ring.view());
        std::mt19937 random(3);
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        for (int turns = 0; taken < 4 * shape.capacity; ++turns) {
            ASSERT_LT(turns, 10'000);
            std::vector<Whole> batch(1 + random() % shape.capacity);
            for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = Whole::make(sent + i);
            sent += producer.try_push_n(batch.data(), batch.size());
            if (sent < shape.capacity) continue;  // a full ring before the choice
            std::size_t const got = consumer.try_pop_n(batch.data(), batch.size());
            for (std::size_t i = 0; i < got; ++i) ASSERT_EQ(batch[i], Whole::make(taken + i));
            taken += got;
        }
    }
}

// Catches an end that goes by words that the other side has damaged beyond the ring's memory.
TEST(RingPagesTest, whateverIsToldEverySlotIsInTheRing) {
    for (PageWord const word : {~PageWord{0}, known_pages | 0xffffffff, PageWord{0x7fffffff}}) {
        PairedRing ring(64, 1);
        ring.told().at(0) = word;
        for (Sequence s = 1; s <= 64; ++s) EXPECT_TRUE(ring.has(ring.view().slot(s, word)));
        HostEnd producer = host_end(ring);
        for (int i = 0; i < 64; ++i) ASSERT_TRUE(producer.try_push(Whole::make(1)));
        EXPECT_FALSE(producer.try_push(Whole::make(1)));
    }
}

// An end that does not choose pages, or is told of none, finds each message in the first page of a
// pair.
TEST(RingPagesTest, endsThatKnowNothingOfPairsUseTheFirstPages) {
    PairedRing ring(8, 1);
    Producer<Whole, HostMapped, HostCached> producer(ring.view(), HostMapped(plain));
    Consumer<Whole, DeviceNear, DeviceFar> consumer(ring.view());
    Whole message{};
    for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(producer.try_push(Whole::make(i)));
        ASSERT_TRUE(consumer.try_pop(message));
        ASSERT_EQ(message, Whole::make(i));
    }
}

TEST(RingPagesTest, ringInOneRunHasNothingToChoose) {
    RingMemory ring(4);
    HostEnd producer(ring.view(), HostMapped(plain));
    DeviceEnd consumer(ring.view());
    Whole message{};
    for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(producer.try_push(Whole::make(i)));
        ASSERT_TRUE(consumer.try_pop(message));
        ASSERT_EQ(message, Whole::make(i));
    }
}

}  // namespace
}  // namespace carillon::test

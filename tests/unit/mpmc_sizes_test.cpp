// SPDX-License-Identifier: Apache-2.0
// The ring that many share, and the slots for replies, with messages of several lines.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/mpmc_producer.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"
#include "support/thread_lanes.hpp"

namespace carillon::test {
using namespace detail;
namespace {

constexpr Sequence below_the_wrap = (Sequence{1} << 32) - 3;

template <class T>
[[nodiscard]] std::vector<T> many(std::uint64_t first, std::uint64_t count) {
    std::vector<T> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(T::make(first + i));
    return messages;
}

template <class T>
class MpmcSizesTest : public testing::Test {};
using MpmcSizes = testing::Types<SizedBytes<8>, SizedBytes<56>, SizedBytes<100>, SizedBytes<256>,
                                 SizedBytes<1024>>;
TYPED_TEST_SUITE(MpmcSizesTest, MpmcSizes);

TYPED_TEST(MpmcSizesTest, claimsOfAnyLengthComeOutInTheirOrderLapAfterLap) {
    for (std::uint32_t const stripe : {1U, 4U}) {
        MpmcRingSlots ring(8, stripe, stripe == 1 ? below_the_wrap : 1, 4, shape_of<TypeParam>());
        auto one = mpmc_producer<TypeParam>(ring, 0);
        auto other = mpmc_producer<TypeParam>(ring, 1);
        MpmcTestConsumer<TypeParam> consumer(ring.view());
        TakenMessages<TypeParam> taken;
        auto const messages = many<TypeParam>(0, 60);
        for (std::size_t sent = 0; sent < 60; sent += 4) {
            ASSERT_EQ(one.try_push_n(&messages[sent], 3), 3U);
            ASSERT_TRUE(other.try_push(messages[sent + 3]));
            ASSERT_TRUE(taken.poll(consumer, sent + 4));
        }
        EXPECT_EQ(taken.messages, messages);
    }
}

TYPED_TEST(MpmcSizesTest, fullRingRefuses) {
    MpmcRingSlots ring(4, 2, 1, 4, shape_of<TypeParam>());
    auto producer = mpmc_producer<TypeParam>(ring);
    auto const messages = many<TypeParam>(0, 8);
    EXPECT_EQ(producer.try_push_n(messages.data(), 8), 4U);
    EXPECT_FALSE(producer.try_push(messages[4]));
    MpmcTestConsumer<TypeParam> consumer(ring.view());
    TakenMessages<TypeParam> taken;
    ASSERT_TRUE(taken.poll(consumer, 2));
    std::size_t const sent = producer.try_push_n(messages.data() + 4, 4);
    EXPECT_GE(sent, 2U);
    ASSERT_TRUE(taken.poll(consumer, 4 + sent));
    EXPECT_EQ(taken.messages, many<TypeParam>(0, 4 + sent));
}

TYPED_TEST(MpmcSizesTest, lanesPushAndTakeThem) {
    constexpr std::uint64_t rounds = 6;
    MpmcRingSlots ring(16, 4, 1, 4, shape_of<TypeParam>());
    std::vector<std::atomic<unsigned>> seen(3 * rounds);
    std::atomic<int> wrong{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        LanesProducer<TypeParam, DeviceFar, DeviceNear, ThreadLanes> out(ring.view(), DeviceFar(),
                                                                         DeviceNear(), lane);
        MpmcConsumer<TypeParam, DeviceNear, DeviceFar, ThreadLanes> in(ring.view(), DeviceNear(),
                                                                       DeviceFar(), lane);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            wrong += out.try_push(TypeParam::make(3 * round + lane.thread_rank())) ? 0 : 1;
            lane.sync();
            for (int polls = 0; polls < 4; ++polls) {
                in.poll([&](TypeParam const& message, Sequence number) {
                    wrong += message == TypeParam::make(number - 1) ? 0 : 1;
                    ++seen.at(number - 1);
                });
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    for (auto const& count : seen) EXPECT_EQ(count, 1U);
}

// Catches a number that is given up though its message is there, and one half written that is not.
TYPED_TEST(MpmcSizesTest, messageWasWrittenWhenAllOfItWas) {
    MpmcRingSlots ring(4, 1, 1, 4, shape_of<TypeParam>());
    MpmcRingView const& view = ring.view();
    Packed<TypeParam> const whole = pack(TypeParam::make(2), 2);
    EXPECT_FALSE(was_written(view, 2, HostCached()));
    for (std::size_t missing = 0; missing < quads_of<TypeParam>; ++missing) {
        Line* const slot = view.slot(2);
        for (std::size_t i = 0; i < lines_of<TypeParam>; ++i) slot[i] = lines_in(whole)[i];
        EXPECT_TRUE(was_written(view, 2, HostCached()));
        Line& line = slot[missing / 4];
        line.quads[missing % 4] = with_tag(line, tag_of(Sequence{2} - 4)).quads[missing % 4];
        EXPECT_FALSE(was_written(view, 2, HostCached())) << missing;
        MpmcTestConsumer<TypeParam> consumer(view);
        TakenMessages<TypeParam> taken;
        EXPECT_FALSE(taken.poll(consumer, 1));
        format_ring(view);
    }
    auto const next_lap = pack(TypeParam::make(6), 6);
    for (std::size_t i = 0; i < lines_of<TypeParam>; ++i) view.slot(2)[i] = lines_in(next_lap)[i];
    EXPECT_TRUE(was_written(view, 2, HostCached()));
}

// The number of a message that is half there is skipped when it was given up, and the next is not.
TYPED_TEST(MpmcSizesTest, halfAMessageThatWasGivenUpIsSkipped) {
    MpmcRingSlots ring(4, 1, 1, 4, shape_of<TypeParam>());
    MpmcRingView const& view = ring.view();
    Claimer dying(view, HostCached(), ClaimRecord(ring.record(1)));
    ASSERT_EQ(dying.try_claim(1, 1).first, 1U);
    Packed<TypeParam> const whole = pack(TypeParam::make(1), 1);
    for (std::size_t i = 0; i + 1 < quads_of<TypeParam>; ++i) {
        view.slot(1)[i / 4].quads[i % 4] = lines_in(whole)[i / 4].quads[i % 4];
    }
    auto producer = mpmc_producer<TypeParam>(ring);
    ASSERT_TRUE(producer.try_push(TypeParam::make(2)));
    give_up_claim(view, 1, 2, cached_stores);
    MpmcTestConsumer<TypeParam> consumer(view);
    TakenMessages<TypeParam> taken;
    ASSERT_TRUE(taken.poll(consumer, 1));
    EXPECT_EQ(taken.numbers, std::vector<Sequence>{2});
    EXPECT_EQ(taken.messages, many<TypeParam>(2, 1));
    EXPECT_EQ(consumer.skipped(), 1U);
}

template <class T>
class ReplySizesTest : public testing::Test {
   protected:
    ReplySizesTest() : lines_(count * slot_lines_of<T>), words_(count) {
        slots_ = {lines_.data(), words_.data(), &next_, count, shape_of<T>()};
        format_reply_slots(slots_, 1);
    }
    static constexpr std::uint32_t count = 3;
    std::vector<Line> lines_;
    std::vector<std::uint64_t> words_;
    std::uint64_t next_ = 0;
    ReplySlots slots_{};
};
TYPED_TEST_SUITE(ReplySizesTest, MpmcSizes);

TYPED_TEST(ReplySizesTest, repliesOfAnySizeComeInAnyOrder) {
    format_reply_slots(this->slots_, below_the_wrap);
    ReplyWriter<DeviceFar> const plain(this->slots_);
    ReplyWriter<DeviceBulkFar> const bulk(this->slots_);
    for (std::uint64_t round = 0; round < 8; ++round) {
        std::vector<ReplySlotClaim<HostCached>> claims(this->count,
                                                       ReplySlotClaim<HostCached>(this->slots_));
        Packed<TypeParam> reply{};
        for (auto& claim : claims) ASSERT_TRUE(claim.try_claim());
        ReplySlotClaim<HostCached> late(this->slots_);
        EXPECT_FALSE(late.try_claim());
        for (std::size_t i = this->count; i-- > 0;) {
            EXPECT_FALSE(claims[i].template look<TypeParam>(reply));
            TypeParam const answer = TypeParam::make(10 * round + i);
            if (round % 2 == 0) plain.answer(claims[i].address(), answer, OutOfLine::written);
            if (round % 2 == 1) bulk.answer(claims[i].address(), answer);
        }
        for (std::size_t i = 0; i < this->count; ++i) {
            ASSERT_TRUE(claims[i].template look<TypeParam>(reply));
            EXPECT_EQ(unpack<TypeParam>(reply), TypeParam::make(10 * round + i));
            claims[i].give_back();
        }
    }
}

// Catches a slot that is free before the last quad of a late reply has come: the rest of it would
// fall on the next one.
TYPED_TEST(ReplySizesTest, slotThatWasGivenUpIsFreeWhenAllOfItsReplyHasCome) {
    ReplySlotClaim<HostCached> claim(this->slots_, 0);
    for (std::size_t missing = 0; missing < quads_of<TypeParam>; ++missing) {
        ASSERT_TRUE(claim.try_claim_own());
        Tag const number = claim.address().number;
        claim.give_up();
        EXPECT_FALSE(claim.try_claim_own());
        Packed<TypeParam> const whole = pack(TypeParam::make(1), number);
        Line* const slot = this->slots_.line(0);
        Quad const old = slot[missing / 4].quads[missing % 4];
        for (std::size_t i = 0; i < lines_of<TypeParam>; ++i) slot[i] = lines_in(whole)[i];
        slot[missing / 4].quads[missing % 4] = old;
        EXPECT_FALSE(has_reply(this->slots_, 0, number, HostCached())) << missing;
        EXPECT_FALSE(claim.try_claim_own()) << missing;
        slot[missing / 4] = lines_in(whole)[missing / 4];
        EXPECT_TRUE(has_reply(this->slots_, 0, number, HostCached())) << missing;
    }
    EXPECT_TRUE(claim.try_claim_own());
}

}  // namespace
}  // namespace carillon::test

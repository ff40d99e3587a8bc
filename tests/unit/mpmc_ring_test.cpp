// SPDX-License-Identifier: Apache-2.0
// The protocol of the ring that many share, step by step on one thread.
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using WholeConsumer = MpmcTestConsumer<Whole>;
using LeavingConsumer = MpmcConsumer<Whole, DeviceNear, DeviceFar, OneThread, true>;

[[nodiscard]] std::vector<Whole> wholes(std::uint64_t first, std::uint64_t count) {
    std::vector<Whole> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(Whole::make(first + i));
    return messages;
}

struct MpmcShape {
    std::uint32_t capacity;
    std::uint32_t stripe;
    Sequence first;
};

class MpmcRingProtocolTest : public testing::TestWithParam<MpmcShape> {};
INSTANTIATE_TEST_SUITE_P(Of, MpmcRingProtocolTest,
                         testing::Values(MpmcShape{4, 1, 1}, MpmcShape{4, 2, 1}, MpmcShape{8, 4, 1},
                                         MpmcShape{8, 2, 7},
                                         MpmcShape{8, 4, (Sequence{1} << 32) - 3},
                                         MpmcShape{8, 1, (Sequence{1} << 32) - 3}));

TEST_P(MpmcRingProtocolTest, messagesComeOutInTheOrderOfTheirClaimsLapAfterLap) {
    auto const [capacity, stripe, first] = GetParam();
    MpmcRingSlots ring(capacity, stripe, first);
    auto one = mpmc_producer<Whole>(ring, 0);
    auto other = mpmc_producer<Whole>(ring, 1);
    WholeConsumer consumer(ring.view());
    TakenMessages<Whole> taken;
    for (std::uint64_t i = 0; i < 40; i += 2) {
        ASSERT_TRUE(one.try_push(Whole::make(i)));
        ASSERT_TRUE(other.try_push(Whole::make(i + 1)));
        ASSERT_TRUE(taken.poll(consumer, i + 2));
    }
    EXPECT_EQ(taken.messages, wholes(0, 40));
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(taken.numbers[i], first + i);
    EXPECT_EQ(consumer.skipped(), 0U);
}

// Catches a claim that looks at the wrong stripe's credit, and one that is larger than its room.
TEST_P(MpmcRingProtocolTest, fullRingTakesAsMuchAgainAsWasTakenOfWholeStripes) {
    auto const [capacity, stripe, first] = GetParam();
    MpmcRingSlots ring(capacity, stripe, first);
    auto producer = mpmc_producer<Whole>(ring);
    auto late = mpmc_producer<Whole>(ring, 1);  // has seen no credit before
    std::vector<Whole> const messages = wholes(0, std::uint64_t{2} * capacity);
    EXPECT_EQ(producer.try_push_n(messages.data(), messages.size()), capacity);
    EXPECT_FALSE(producer.try_push(messages[0]));
    WholeConsumer consumer(ring.view());
    TakenMessages<Whole> taken;
    for (std::uint32_t stripes = 1; stripes <= capacity / stripe; ++stripes) {
        ASSERT_TRUE(taken.poll(consumer, std::size_t{stripes} * stripe));
        auto& next = stripes % 2 == 0 ? producer : late;
        EXPECT_EQ(
            next.try_push_n(messages.data() + capacity + (stripes - 1) * stripe, 2 * capacity),
            stripe);
    }
    ASSERT_TRUE(taken.poll(consumer, messages.size()));
    EXPECT_EQ(taken.messages, messages);
}

TEST_P(MpmcRingProtocolTest, consumerThatEndsLeavesTheRestOfItsStripeToTheNext) {
    auto const [capacity, stripe, first] = GetParam();
    MpmcRingSlots ring(capacity, stripe, first);
    auto producer = mpmc_producer<Whole>(ring);
    TakenMessages<Whole> taken;
    std::uint64_t sent = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
        LeavingConsumer consumer(ring.view());
        consumer.poll([](Whole const&, Sequence) { FAIL(); });  // it claims before there is any
        for (std::uint64_t k = 0; k < i % 3; ++k) {
            ASSERT_TRUE(producer.try_push(Whole::make(sent++)));
        }
        ASSERT_TRUE(taken.poll(consumer, sent));
        consumer.hand_on();
    }
    EXPECT_EQ(taken.messages, wholes(0, sent));
}

// Catches a ring that stays full: its consumer has claimed the slots whose credit is awaited.
TEST_P(MpmcRingProtocolTest, consumerThatWaitsGoesOnWithAStripeThatWasLeft) {
    auto const [capacity, stripe, first] = GetParam();
    MpmcRingSlots ring(capacity, stripe, first);
    auto producer = mpmc_producer<Whole>(ring);
    LeavingConsumer one(ring.view());
    LeavingConsumer other(ring.view());
    TakenMessages<Whole> taken;
    auto const count = [&] { return taken.messages.size(); };
    one.poll([](Whole const&, Sequence) { FAIL(); });  // the first stripe is its
    for (std::uint64_t i = 0; i < capacity; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
    ASSERT_FALSE(taken.poll(other, capacity));
    ASSERT_EQ(count(), capacity - stripe);
    ASSERT_FALSE(producer.try_push(Whole::make(capacity)));
    one.hand_on();
    ASSERT_TRUE(taken.poll(other, capacity));
    ASSERT_TRUE(producer.try_push(Whole::make(capacity)));
    ASSERT_TRUE(taken.poll(other, capacity + 1));
    EXPECT_EQ(taken.messages.back(), Whole::make(capacity));
}

TEST_P(MpmcRingProtocolTest, consumersTakeAStripeEach) {
    auto const [capacity, stripe, first] = GetParam();
    MpmcRingSlots ring(capacity, stripe, first);
    auto producer = mpmc_producer<Whole>(ring);
    WholeConsumer one(ring.view());
    WholeConsumer other(ring.view());
    TakenMessages<Whole> of_one;
    TakenMessages<Whole> of_other;
    ASSERT_FALSE(of_one.poll(one, 1));  // claims the first stripe
    ASSERT_FALSE(of_other.poll(other, 1));
    auto const messages = wholes(0, std::uint64_t{2} * stripe);
    ASSERT_EQ(producer.try_push_n(messages.data(), messages.size()), messages.size());
    ASSERT_TRUE(of_other.poll(other, stripe));
    EXPECT_EQ(of_other.messages, wholes(stripe, stripe));
    ASSERT_TRUE(of_one.poll(one, stripe));
    EXPECT_EQ(of_one.messages, wholes(0, stripe));
    EXPECT_EQ(ring.credits()[ring.view().index(first) >> ring.view().stripe_shift],
              first - 1 + stripe);
}

TEST(MpmcRingTest, creditOfAStripeReturnsWithItsLastLineAndNotBefore) {
    MpmcRingSlots ring(8, 4);
    auto producer = mpmc_producer<Whole>(ring);
    WholeConsumer consumer(ring.view());
    TakenMessages<Whole> taken;
    for (std::size_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(producer.try_push(Whole::make(i)));
        ASSERT_TRUE(taken.poll(consumer, i));
        EXPECT_EQ(ring.credits()[0], i == 4 ? 4U : 0U);
    }
    EXPECT_EQ(ring.credits()[1], 0U);
}

// Catches messages that are delivered again, or lost, and a stripe whose credit is lost, where a
// use throws: at any line of a poll, and at the last one of a stripe.
TEST(MpmcRingTest, messageWhoseUseThrowsIsTakenAndNothingIsDeliveredTwice) {
    constexpr std::uint32_t stripe = 8;
    for (std::uint64_t bad = 0; bad < stripe; ++bad) {
        SCOPED_TRACE(bad);
        MpmcRingSlots ring(2 * stripe, stripe);
        auto producer = mpmc_producer<Whole>(ring);
        WholeConsumer consumer(ring.view());
        std::vector<Whole> const messages = wholes(0, stripe);
        ASSERT_EQ(producer.try_push_n(messages.data(), stripe), stripe);
        std::vector<Whole> used;
        unsigned thrown = 0;
        for (unsigned polls = 0; polls < stripe; ++polls) {
            try {
                consumer.poll([&](Whole const& message, Sequence /*number*/) {
                    used.push_back(message);
                    if (message == Whole::make(bad)) throw std::domain_error("bad");
                });
            } catch (std::domain_error const&) {
                ++thrown;
            }
        }
        EXPECT_EQ(used, messages);
        EXPECT_EQ(thrown, 1U);
        EXPECT_EQ(ring.credits().front(), stripe);
    }
}

TEST(MpmcRingTest, emptyBatchIsNoClaim) {
    MpmcRingSlots ring(4, 1);
    auto producer = mpmc_producer<Whole>(ring);
    EXPECT_EQ(producer.try_push_n(nullptr, 0), 0U);
    EXPECT_EQ(*ring.view().claimed, 0U);
    EXPECT_EQ(ring.record(0)->begin, ProducerRecord::none);
}

// Claims as a thread does that ends before it writes.
void claim_and_die(MpmcRingSlots& ring, std::size_t record, std::uint32_t count) {
    Claimer claimer(ring.view(), HostCached(), ClaimRecord(ring.record(record)));
    EXPECT_EQ(claimer.try_claim(count, count).count, count);
}

[[nodiscard]] bool give_up(MpmcRingSlots& ring, std::vector<ProducerRecord const*> const& living) {
    std::vector<Claim> held(living.size());
    return give_up_claims(
        ring.view(), living.size(), [&](std::size_t i) { return living[i]; }, cached_stores,
        HostCached(), held.data());
}

TEST(MpmcRingTest, claimOfTheDeadIsSkippedAndNothingElse) {
    for (Sequence const first : {Sequence{1}, (Sequence{1} << 32) - 3}) {
        MpmcRingSlots ring(8, 4, first);
        auto producer = mpmc_producer<Whole>(ring, 1);
        ASSERT_TRUE(producer.try_push(Whole::make(0)));
        claim_and_die(ring, 0, 2);
        for (std::uint64_t i = 1; i < 6; ++i) ASSERT_TRUE(producer.try_push(Whole::make(i)));
        WholeConsumer consumer(ring.view());
        TakenMessages<Whole> taken;
        EXPECT_FALSE(taken.poll(consumer, 2));
        ASSERT_TRUE(give_up(ring, {ring.record(1)}));
        ASSERT_TRUE(taken.poll(consumer, 6));
        for (std::uint64_t i = 6; i < 30; ++i) {
            ASSERT_TRUE(producer.try_push(Whole::make(i)));
            ASSERT_TRUE(taken.poll(consumer, i + 1));
        }
        EXPECT_EQ(taken.messages, wholes(0, 30));
        EXPECT_EQ(consumer.skipped(), 2U);
    }
}

TEST(MpmcRingTest, claimOfTheLivingIsNotGivenUp) {
    MpmcRingSlots ring(8, 2);
    claim_and_die(ring, 0, 2);
    Claimer living(ring.view(), HostCached(), ClaimRecord(ring.record(1)));
    Claim const claim = living.try_claim(1, 3);
    ASSERT_EQ(claim.count, 3U);
    ASSERT_TRUE(give_up(ring, {nullptr, ring.record(1)}));
    for (Sequence s = 1; s <= 5; ++s) EXPECT_EQ(ring.view().given_up[s - 1], s <= 2 ? s : 0) << s;
    for (Sequence s = 6; s <= 8; ++s) EXPECT_EQ(ring.view().given_up[s - 1], 0U) << "not claimed";
}

TEST(MpmcRingTest, nothingIsGivenUpWhileALivingProducerIsJustClaiming) {
    MpmcRingSlots ring(4, 1);
    claim_and_die(ring, 0, 1);
    ring.record(1)->begin = ProducerRecord::claiming;
    EXPECT_FALSE(give_up(ring, {nullptr, ring.record(1)}));
    EXPECT_EQ(ring.view().given_up[0], 0U);
    ring.record(1)->begin = ProducerRecord::none;
    EXPECT_TRUE(give_up(ring, {nullptr, ring.record(1)}));
    EXPECT_EQ(ring.view().given_up[0], 1U);
}

// The dead producer had written all but its record, so that its number was given up.
TEST(MpmcRingTest, lineThatIsThereIsTakenAlthoughItsNumberWasGivenUp) {
    MpmcRingSlots ring(4, 2);
    auto dead = mpmc_producer<Whole>(ring, 0);
    ASSERT_TRUE(dead.try_push(Whole::make(7)));
    ASSERT_TRUE(give_up(ring, {nullptr}));
    EXPECT_EQ(ring.view().given_up[0], 1U);
    WholeConsumer consumer(ring.view());
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 1));
    EXPECT_EQ(taken.messages[0], Whole::make(7));
    EXPECT_EQ(consumer.skipped(), 0U);
}

template <std::size_t size>
struct Bytes {
    unsigned char byte[size];
    static Bytes make(unsigned number) {
        Bytes bytes;
        for (std::size_t i = 0; i < size; ++i)
            bytes.byte[i] = static_cast<unsigned char>(number + i);
        return bytes;
    }
};

// Batches of 37 pass the ring's last slot, and the 16 that are laid out at a time.
template <std::size_t size>
void expect_batches_whole() {
    using Message = Bytes<size>;
    std::vector<Message> sent;
    for (unsigned i = 0; i < 200; ++i) sent.push_back(Message::make(i));
    MpmcRingSlots ring(64, 4);
    auto shared = mpmc_producer<Message>(ring);
    MpmcTestConsumer<Message> consumer(ring.view());
    RingMemory memory(64, just_below_the_tags_wrap);
    Producer<Message, HostMapped, HostCached> producer(memory.view(), cached_stores);
    Consumer<Message, DeviceNear, DeviceFar> other(memory.view());
    TakenMessages<Message> taken;
    std::vector<Message> popped(sent.size());
    std::size_t pushed = 0;
    std::size_t got = 0;
    for (std::size_t done = 0; done < sent.size();) {
        std::size_t const count = std::min<std::size_t>(37, sent.size() - done);
        std::size_t const fit = shared.try_push_n(&sent[done], count);
        ASSERT_NE(fit, 0U);
        done += fit;
        ASSERT_TRUE(taken.poll(consumer, done));
        pushed +=
            producer.try_push_n(&sent[pushed], std::min<std::size_t>(37, sent.size() - pushed));
        got += other.try_pop_n(&popped[got], sent.size() - got);
        ASSERT_EQ(got, pushed);
    }
    while (got < sent.size()) {
        pushed += producer.try_push_n(&sent[pushed], sent.size() - pushed);
        got += other.try_pop_n(&popped[got], sent.size() - got);
    }
    EXPECT_EQ(std::memcmp(taken.messages.data(), sent.data(), sent.size() * size), 0);
    EXPECT_EQ(std::memcmp(popped.data(), sent.data(), sent.size() * size), 0);
}

TEST(MpmcRingTest, batchesOfMessagesOfAnySizeArriveWhole) {
    expect_batches_whole<1>();
    expect_batches_whole<4>();
    expect_batches_whole<20>();
    expect_batches_whole<47>();
    expect_batches_whole<48>();
}

// A batch and a single line store the same bytes on the other side.
TEST(StorePayloadsTest, everyKindStoresTheLinesThatPackLaysOut) {
    alignas(16) std::array<unsigned char, 64 * payload_bytes + 16> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 1);
    for (StoreKind const kind : all_store_kinds()) {
        if (!supported(kind)) continue;
        for (std::size_t const offset : {0U, 1U, 4U, 8U, 13U}) {
            for (std::size_t const count : {1U, 2U, 3U, 17U, 64U}) {
                std::vector<Line> lines(count + 1);
                X86::store_payloads(kind, lines.data(), bytes.data() + offset, count, 0xfffffffeU);
                X86::store_fence();
                for (std::size_t i = 0; i < count; ++i) {
                    Line const expected = pack_payload(bytes.data() + offset + i * payload_bytes,
                                                       0xfffffffeU + static_cast<Tag>(i));
                    ASSERT_EQ(std::memcmp(&lines[i], &expected, sizeof(Line)), 0)
                        << to_string(kind) << ", offset " << offset << ", line " << i << " of "
                        << count;
                }
                EXPECT_EQ(lines[count].quads[0].high, 0U) << "one line too many";
            }
        }
    }
}

}  // namespace
}  // namespace carillon::test

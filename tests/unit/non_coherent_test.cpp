// SPDX-License-Identifier: Apache-2.0
// The host policies' flushes and invalidations of memory that is not coherent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "carillon/detail/host/life_registry.hpp"
#include "carillon/detail/host/mpmc_ring_state.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "device/unflushed.hpp"
#include "support/accesses.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// Stands for non-coherent memory: the device's copy of a line changes only at a flush, the host's
// only at an invalidate.
class NonCoherentLine final : public RangeSync {
   public:
    void flush(void const* where, std::size_t size) const override {
        EXPECT_EQ(where, static_cast<void const*>(&host_line));
        EXPECT_EQ(size, sizeof(Line));
        flushed.push_back(host_line);
    }
    void invalidate(void const* where, std::size_t size) const override {
        EXPECT_EQ(where, static_cast<void const*>(&host_line));
        EXPECT_EQ(size, sizeof(Line));
        host_line = device_line;
        ++invalidates;
    }

    mutable Line host_line{};
    Line device_line{};
    mutable std::vector<Line> flushed;
    mutable int invalidates = 0;
};

bool same(Line const& a, Line const& b) { return std::memcmp(&a, &b, sizeof(Line)) == 0; }

struct StoresParam {
    HostStores stores;
    [[nodiscard]] std::string name() const { return name_of(stores); }
};

void PrintTo(StoresParam const& param, std::ostream* out) { *out << param.name(); }

std::vector<StoresParam> stores_params() {
    std::vector<StoresParam> all;
    for (HostStores stores : all_stores()) all.push_back({stores});
    return all;
}

class NonCoherentTest : public testing::TestWithParam<StoresParam> {
   protected:
    void SetUp() override {
        std::string const reason = why_not(GetParam().stores);
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
    [[nodiscard]] bool two_step() const { return GetParam().stores.mode == PublishMode::two_step; }
};
INSTANTIATE_TEST_SUITE_P(With, NonCoherentTest, testing::ValuesIn(stores_params()),
                         test_name<StoresParam>);

// Catches a second step while the first is still in a buffer: new tags would precede their payload.
TEST_P(NonCoherentTest, twoStepPublishSendsThePayloadUnderTheOldTagsFirst) {
    NonCoherentLine memory;
    HostMapped const far(GetParam().stores, &memory);
    Line const line = pack(Whole::make(1), 9);
    far.store_line(&memory.host_line, line, 5);
    if (two_step()) {
        ASSERT_EQ(memory.flushed.size(), 1U);
        EXPECT_TRUE(same(memory.flushed.front(), with_tag(line, 5)));
    } else {
        EXPECT_TRUE(memory.flushed.empty());
    }
    far.commit(&memory.host_line, sizeof(Line));
    ASSERT_FALSE(memory.flushed.empty());
    EXPECT_TRUE(same(memory.flushed.back(), line));
}

// Catches a publish without a flush: invariant 7.
TEST_P(NonCoherentTest, everyPublishIsFlushed) {
    NonCoherentLine memory;
    HostMapped const far(GetParam().stores, &memory);
    std::uint64_t credit = 0;
    RingView view{&memory.host_line, &credit, 1, 1};  // one slot, so that one line is watched
    HostProducer<Whole> producer(view, far, HostCached());
    for (Sequence s = 1; s <= 3; ++s) {
        memory.flushed.clear();
        ASSERT_TRUE(producer.try_push(Whole::make(s)));
        ASSERT_EQ(memory.flushed.size(), two_step() ? 2U : 1U);
        EXPECT_TRUE(same(memory.flushed.back(), pack(Whole::make(s), tag_of(s))));
        credit = s;
    }
}

// Catches a poll that looks at a stale copy for ever: invariant 7.
TEST_P(NonCoherentTest, everyPollIsPrecededByAnInvalidate) {
    NonCoherentLine memory;
    std::uint64_t credit = 0;
    RingView const view{&memory.host_line, &credit, 1, 1};
    HostConsumer<Whole> consumer(view, HostCached(&memory), HostMapped(GetParam().stores));
    Whole message{};
    EXPECT_FALSE(consumer.try_pop(message));
    EXPECT_EQ(memory.invalidates, 1);
    memory.device_line = pack(Whole::make(4), 1);
    ASSERT_TRUE(consumer.try_pop(message));
    EXPECT_EQ(message, Whole::make(4));
    EXPECT_EQ(memory.invalidates, 2);
}

// Counts, for words.
class CountingSync final : public RangeSync {
   public:
    void flush(void const* where, std::size_t size) const override {
        EXPECT_EQ(size, sizeof(std::uint64_t));
        last = *static_cast<std::uint64_t const*>(where);
        ++flushes;
    }
    void invalidate(void const* /*where*/, std::size_t size) const override {
        EXPECT_EQ(size, sizeof(std::uint64_t));
        ++invalidates;
    }
    mutable int flushes = 0;
    mutable int invalidates = 0;
    mutable std::uint64_t last = 0;
};

TEST_P(NonCoherentTest, everyCreditIsFlushedAfterItWasStored) {
    CountingSync sync;
    RingMemory memory(2);
    auto const access = Access{Side::host, Side::host, GetParam().stores};
    auto producer = access.make_producer<Whole>(memory.view());
    HostConsumer<Whole> consumer(memory.view(), HostCached(), HostMapped(GetParam().stores, &sync));
    Whole message{};
    for (int i = 1; i <= 3; ++i) {
        ASSERT_TRUE(producer.try_push(Whole::make(1)));
        ASSERT_TRUE(consumer.try_pop(message));
        ASSERT_FALSE(consumer.try_pop(message));  // returns what credit is held
        EXPECT_EQ(sync.flushes, i);
        EXPECT_EQ(sync.last, static_cast<std::uint64_t>(i));
    }
}

TEST_P(NonCoherentTest, everyLookAtTheCreditIsPrecededByAnInvalidate) {
    CountingSync sync;
    RingMemory memory(2);
    HostProducer<Whole> producer(memory.view(), HostMapped(GetParam().stores), HostCached(&sync));
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(producer.try_push(Whole::make(1)));
    EXPECT_EQ(sync.invalidates, 0);
    EXPECT_FALSE(producer.try_push(Whole::make(1)));
    EXPECT_FALSE(producer.try_push(Whole::make(1)));
    EXPECT_EQ(sync.invalidates, 2);
}

TEST_P(NonCoherentTest, storesAreTheOnesAskedFor) {
    HostMapped const far(GetParam().stores);
    EXPECT_EQ(far.stores().kind, GetParam().stores.kind);
    EXPECT_EQ(far.stores().mode, GetParam().stores.mode);
}

// Catches a kind of store that leaves a part of the line out, or writes beyond it.
TEST_P(NonCoherentTest, lineIsStoredWholeAndNothingBesideIt) {
    std::vector<Line> lines(3, pack(Whole::make(1), 1));
    HostMapped const far(GetParam().stores);
    Line const line = pack(Whole::make(2), 2);
    far.store_line(&lines.at(1), line, 1);
    far.commit(&lines.at(1), sizeof(Line));
    EXPECT_TRUE(same(lines.at(1), line));
    EXPECT_TRUE(same(lines.at(0), pack(Whole::make(1), 1)));
    EXPECT_TRUE(same(lines.at(2), pack(Whole::make(1), 1)));
}

// Fails at the flushes that are counted off for it.
class FailingSync final : public RangeSync {
   public:
    void flush(void const* /*where*/, std::size_t /*size*/) const override {
        if (flushes++ == fails_at) throw std::domain_error("no memory for a flush");
    }
    void invalidate(void const* /*where*/, std::size_t /*size*/) const override {}

    mutable int flushes = 0;
    int fails_at = -1;
};

// Catches two messages under the same tags, which the other side may mix: after a flush that failed
// it is unknown which bytes have arrived.
TEST_P(NonCoherentTest, messageIsSentOrNotSentWhenItsFlushThrowsAndItsNumberIsNotUsedTwice) {
    for (int failing = 0; failing < (two_step() ? 2 : 1); ++failing) {
        RingMemory memory(4);
        FailingSync sync;
        HostProducer<Whole> producer(memory.view(), HostMapped(GetParam().stores, &sync),
                                     HostCached());
        HostConsumer<Whole> consumer(memory.view(), HostCached(),
                                     HostMapped({StoreKind::cached, PublishMode::one_step}));
        sync.fails_at = failing;
        EXPECT_THROW((void)producer.try_push(Whole::make(1)), std::domain_error);
        bool const sent = producer.next() == 2;
        EXPECT_EQ(sent, !two_step() || failing == 1);
        Whole message{};
        EXPECT_EQ(consumer.try_pop(message), sent);
        if (sent) {
            EXPECT_EQ(message, Whole::make(1));
        }
        for (std::uint64_t i = 2; i <= 9; ++i) {
            ASSERT_TRUE(producer.try_push(Whole::make(i)));
            ASSERT_TRUE(consumer.try_pop(message));
            EXPECT_EQ(message, Whole::make(i));
            EXPECT_FALSE(consumer.try_pop(message));
        }
    }
}

// A batch in one call, over the ring's end: the messages below next() are sent, no others.
TEST_P(NonCoherentTest, batchIsSentAsFarAsItsNumbersAreSpentWhenAFlushThrows) {
    for (int failing = 0; failing < (two_step() ? 3 : 1); ++failing) {
        SCOPED_TRACE(failing);
        RingMemory memory(8, 7);
        FailingSync sync;
        HostProducer<Whole> producer(memory.view(), HostMapped(GetParam().stores, &sync),
                                     HostCached());
        HostConsumer<Whole> consumer(memory.view(), HostCached(),
                                     HostMapped({StoreKind::cached, PublishMode::one_step}));
        std::array<Whole, 5> messages{};
        for (std::size_t i = 0; i < messages.size(); ++i) messages[i] = Whole::make(i);
        sync.fails_at = failing;
        EXPECT_THROW((void)producer.try_push_n(messages.data(), messages.size()),
                     std::domain_error);
        auto const sent = static_cast<std::size_t>(producer.next() - 7);
        std::size_t const rest = messages.size() - sent;
        ASSERT_EQ(producer.try_push_n(messages.data() + sent, rest), rest);
        Whole message{};
        for (Whole const& expected : messages) {
            ASSERT_TRUE(consumer.try_pop(message));
            EXPECT_EQ(message, expected);
        }
        EXPECT_FALSE(consumer.try_pop(message));
    }
}

TEST_P(NonCoherentTest, valueOfAMailboxWhoseFlushThrowsLeavesItsVersionToNoOther) {
    for (int failing = 0; failing < (two_step() ? 3 : 2); ++failing) {
        std::vector<Line> lines(2 * mailbox_lines<Whole>);
        std::uint64_t newest = 0;
        MailboxView const view{lines.data(), &newest, 2, mailbox_lines<Whole>, 1};
        format_mailbox(view);
        FailingSync sync;
        MailboxWriter<Whole, HostMapped> writer(view, HostMapped(GetParam().stores, &sync));
        sync.fails_at = failing;
        EXPECT_THROW(writer.set(Whole::make(1)), std::domain_error);
        Tag const spent = lines[view.slot(1) - lines.data()].quads[0].tag();
        writer.set(Whole::make(2));
        EXPECT_EQ(newest, 2U);
        EXPECT_EQ(lines[view.slot(1) - lines.data()].quads[0].tag(), spent);
        MailboxReader<Whole, HostCached> reader(view);
        Whole value{};
        ASSERT_TRUE(reader.refresh(value));
        EXPECT_EQ(value, Whole::make(2));
    }
}

// Catches a chunk that has no owner any more and was not handed over: no other would be taken.
TEST_P(NonCoherentTest, chunkWhoseFlushThrowsIsStillItsOwnersUntilItsLineIsStored) {
    std::vector<Line> lines(4);
    std::uint64_t credit = 0;
    ChunkRingView const view{{lines.data(), &credit, 2, 1},
                             reinterpret_cast<std::byte*>(lines.data() + 2),
                             sizeof(Line)};
    format_ring(view.ring);
    FailingSync sync;
    ChunkProducer<HostMapped, HostCached> producer(view, HostMapped(GetParam().stores, &sync));
    ChunkConsumer<NoMeta, HostCached, HostMapped> consumer(
        view, HostCached(), HostMapped({StoreKind::cached, PublishMode::one_step}));
    Sequence const claimed = producer.try_claim();
    ChunkView<NoMeta> chunk{};
    for (sync.fails_at = 0; sync.fails_at < (two_step() ? 2 : 1); ++sync.fails_at) {
        sync.flushes = 0;
        EXPECT_THROW(producer.store(claimed, 8, NoMeta()), std::domain_error);
        EXPECT_FALSE(consumer.try_take(chunk));
    }
    sync.fails_at = -1;
    producer.store(claimed, 16, NoMeta());
    producer.send(claimed);
    ASSERT_TRUE(consumer.try_take(chunk));
    EXPECT_EQ(chunk.size, 16U);
}

// Catches a claim that stays without its line for ever: nothing behind it would be taken.
TEST_P(NonCoherentTest, claimOfAProducerThatCouldNotFlushIsSkippedOrTakenOnce) {
    for (int failing = 0; failing < (two_step() ? 2 : 1); ++failing) {
        MpmcRingSlots ring(8, 2);
        detail::ProducerRegistry registry(ring.record(0), 1);
        unsigned const number = registry.try_enter().value();
        FailingSync sync;
        HostMapped const far(GetParam().stores, &sync);
        MpmcTestProducer<Whole> producer(ring.view(), far, HostCached(),
                                         ClaimRecord(registry.record(number)));
        sync.fails_at = failing;
        EXPECT_THROW((void)producer.try_push(Whole::make(1)), std::domain_error);
        registry.give_up(number, ring.view(), far);
        EXPECT_EQ(ring.record(0)->begin, ProducerRecord::none);
        ASSERT_TRUE(producer.try_push(Whole::make(2)));
        MpmcTestConsumer<Whole> consumer(ring.view());
        TakenMessages<Whole> taken;
        (void)taken.poll(consumer, 2);
        EXPECT_EQ(taken.messages.back(), Whole::make(2));
        EXPECT_EQ(taken.messages.size() + consumer.skipped(), 2U);
        registry.leave(number);
    }
}

// Catches a range of memory that no later flush covers.
TEST(UnflushedTest, whatAFlushThatFailedLeftBehindLeavesWithTheNext) {
    detail::Unflushed<int> unflushed;
    std::vector<int> flushed;
    bool fails = false;
    auto const flush = [&](int range) {
        if (fails) throw std::domain_error("no memory");
        flushed.push_back(range);
    };
    unflushed.flush(1, flush);
    fails = true;
    EXPECT_THROW(unflushed.flush(2, flush), std::domain_error);
    EXPECT_THROW(unflushed.flush(3, flush), std::domain_error);
    fails = false;
    unflushed.flush(4, flush);
    unflushed.flush(5, flush);
    std::sort(flushed.begin(), flushed.end());
    EXPECT_EQ(flushed, (std::vector<int>{1, 2, 3, 4, 5}));
}

// Catches words of the device in an atom that the host flushes.
TEST(MpmcRingLayoutTest, partsShareNoAtomAndNoPairOfLines) {
    for (std::size_t const atom : {1U, 64U, 256U, 1024U}) {
        detail::MpmcRingLayout const at(64, 1, 8, 3, atom);
        std::size_t const unit = std::max<std::size_t>(atom, 128);
        for (std::size_t const part : {at.lines, at.given_up, at.taken, at.claimed, at.credits,
                                       at.records, at.of_producers.size()}) {
            EXPECT_EQ(part % unit, 0U);
        }
        EXPECT_GE(at.taken - at.given_up, 64 * sizeof(std::uint64_t));
        EXPECT_GE(at.credits - at.claimed, unit);
    }
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// What the host's policies ask of memory that is not coherent.
#include <gtest/gtest.h>

#include "support/accesses.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
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

// Catches a second step whose first step was still in a buffer: new tags ahead of their payload.
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

// Catches a kind whose store leaves a part of the line out, or spills over it.
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

}  // namespace
}  // namespace carillon::test

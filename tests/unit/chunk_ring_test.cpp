// SPDX-License-Identifier: Apache-2.0
// The protocol of a ring of chunks: the owner of each chunk, and the accesses in their order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "support/recording.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Entries = std::vector<std::string>;

struct Meta {
    std::uint64_t word[5];

    static Meta make(std::uint64_t number) {
        return {{number, ~number, number + 1, number + 2, number + 3}};
    }
    bool operator==(Meta const&) const = default;
};
static_assert(sizeof(Meta) == 40);

// Four chunks of one line each; the log calls them slots 4 to 7.
class ChunkRingTest : public testing::TestWithParam<Sequence> {
   protected:
    using View = ChunkView<Meta>;
    static constexpr std::uint32_t chunks = 4;

    void SetUp() override { format_ring(view_.ring); }

    void commit(Sequence sequence) { producer_.commit(sequence, 24, Meta::make(sequence)); }
    void claim_and_commit(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            Sequence const claimed = producer_.try_claim();
            ASSERT_NE(claimed, 0U);
            commit(claimed);
        }
    }
    // The number of the chunk that was taken, or 0.
    Sequence take() {
        View view{};
        if (!consumer_.try_take(view)) return 0;
        EXPECT_EQ(view.meta, Meta::make(view.sequence));
        EXPECT_EQ(view.size, 24U);
        EXPECT_EQ(view.data, view_.chunk(view.sequence));
        return view.sequence;
    }

    Sequence first_ = GetParam();
    std::vector<Line> lines_{2 * chunks};
    std::uint64_t credit_ = 0;
    ChunkRingView view_{{lines_.data(), &credit_, chunks, first_},
                        reinterpret_cast<std::byte*>(lines_.data() + chunks),
                        sizeof(Line)};
    AccessLog log_{view_.ring};
    ChunkProducer<RecordingFar, RecordingNear> producer_{view_, RecordingFar(&log_),
                                                         RecordingNear(&log_)};
    ChunkConsumer<Meta, RecordingNear, RecordingFar> consumer_{view_, RecordingNear(&log_),
                                                               RecordingFar(&log_)};
};
// The first chunks of the second ring have the last tags before their wrap.
std::string start_name(testing::TestParamInfo<Sequence> const& start) {
    return start.param == 1 ? "theStart" : "belowTheTagsWrap";
}
INSTANTIATE_TEST_SUITE_P(From, ChunkRingTest, testing::Values(1, just_below_the_tags_wrap),
                         start_name);

TEST_P(ChunkRingTest, everyChunkCanBeClaimedAheadAndNoMore) {
    for (Sequence i = 0; i < chunks; ++i) EXPECT_EQ(producer_.try_claim(), first_ + i);
    EXPECT_EQ(producer_.try_claim(), 0U);
    EXPECT_EQ(producer_.try_claim(), 0U);
}

// Catches a credit that leaves when the chunk is taken: it would be overwritten while it is read.
TEST_P(ChunkRingTest, chunkIsFreeAgainWhenItIsReleasedNotWhenItIsTaken) {
    claim_and_commit(chunks);
    for (Sequence i = 0; i < chunks; ++i) EXPECT_EQ(take(), first_ + i);
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(producer_.try_claim(), 0U);
    consumer_.release(first_);
    EXPECT_EQ(producer_.try_claim(), first_ + chunks);
    EXPECT_EQ(producer_.try_claim(), 0U);
    consumer_.release(first_ + 2);  // and with it the one before
    EXPECT_EQ(producer_.try_claim(), first_ + chunks + 1);
    EXPECT_EQ(producer_.try_claim(), first_ + chunks + 2);
    EXPECT_EQ(producer_.try_claim(), 0U);
}

TEST_P(ChunkRingTest, chunksCommittedInAnyOrderAreTakenInOrder) {
    for (int lap = 0; lap < 3; ++lap) {
        Sequence const begin = producer_.try_claim();
        for (int i = 1; i < 4; ++i) ASSERT_NE(producer_.try_claim(), 0U);
        commit(begin + 3);
        commit(begin + 1);
        EXPECT_EQ(take(), 0U);
        commit(begin);
        EXPECT_EQ(take(), begin);
        EXPECT_EQ(take(), begin + 1);
        EXPECT_EQ(take(), 0U);
        commit(begin + 2);
        EXPECT_EQ(take(), begin + 2);
        EXPECT_EQ(take(), begin + 3);
        consumer_.release(begin + 3);
    }
}

// Catches a credit for chunks that were never handed over. The producer would overwrite such
// chunks, or wait for them without end.
TEST_P(ChunkRingTest, releaseOfWhatWasNotTakenOrIsReleasedAlreadyChangesNothing) {
    claim_and_commit(3);
    ASSERT_EQ(take(), first_);
    ASSERT_EQ(take(), first_ + 1);
    for (Sequence const wrong : {first_ + 2, first_ + 3, first_ + 1000, first_ - 1, ~Sequence{0}}) {
        EXPECT_FALSE(consumer_.release(wrong));
        EXPECT_EQ(credit_, first_ - 1);
    }
    EXPECT_TRUE(consumer_.release(first_ + 1));
    EXPECT_FALSE(consumer_.release(first_));
    EXPECT_FALSE(consumer_.release(first_ + 1));
    EXPECT_EQ(credit_, first_ + 1);
    EXPECT_EQ(take(), first_ + 2);
    EXPECT_TRUE(consumer_.release(first_ + 2));
}

TEST_P(ChunkRingTest, creditBeyondWhatWasClaimedIsNotBelieved) {
    claim_and_commit(chunks);
    for (Sequence const wrong : {first_ + chunks, first_ + 1000, ~Sequence{0}}) {
        credit_ = wrong;
        EXPECT_EQ(producer_.try_claim(), 0U);
    }
    credit_ = first_;
    EXPECT_EQ(producer_.try_claim(), first_ + chunks);
    EXPECT_EQ(producer_.try_claim(), 0U);
}

// Catches data that overtake nothing but their own line, and a line that overtakes them.
TEST_P(ChunkRingTest, dataAreReleasedBeforeTheLineThatHandsThemOver) {
    Sequence const claimed = producer_.try_claim();
    EXPECT_EQ(log_.take(), Entries{});
    commit(claimed);
    std::string const tags = "  over tag " + std::to_string(tag_of(claimed - chunks)) + " tag " +
                             std::to_string(tag_of(claimed));
    std::string const slot = "slot " + std::to_string((claimed - 1) % chunks);
    std::string const data = "slot " + std::to_string((claimed - 1) % chunks + chunks);
    EXPECT_EQ(log_.take(), (Entries{"far.commit 24 " + data, "far.release",
                                    "far.store_line " + slot, tags, "far.commit 64 " + slot}));
}

TEST_P(ChunkRingTest, takingReturnsNoCreditAndReleasingReturnsItBehindAFence) {
    claim_and_commit(1);
    (void)log_.take();
    ASSERT_EQ(take(), first_);
    std::string const slot = "slot " + std::to_string((first_ - 1) % chunks);
    EXPECT_EQ(log_.take(), Entries{"near.load_line " + slot});
    consumer_.release(first_);
    EXPECT_EQ(log_.take(),
              (Entries{"far.release", "far.store_word credit", "far.commit 8 credit"}));
    EXPECT_EQ(credit_, first_);
}

TEST_P(ChunkRingTest, droppedChunkIsSkippedAndGivenBackAtOnce) {
    for (int lap = 0; lap < 5; ++lap) {
        Sequence const dropped = producer_.try_claim();
        producer_.drop(dropped);
        claim_and_commit(1);
        EXPECT_EQ(take(), 0U);
        EXPECT_EQ(credit_, dropped);
        EXPECT_EQ(take(), dropped + 1);
        EXPECT_EQ(credit_, dropped);
        consumer_.release(dropped + 1);
        EXPECT_EQ(credit_, dropped + 1);
    }
}

// Catches a dropped chunk that is given back while one before it is read, and one that never is.
TEST_P(ChunkRingTest, droppedChunkGoesBackWithTheOneBeforeItThoughLaterOnesAreHeld) {
    Sequence const begin = producer_.try_claim();
    for (int i = 1; i < 4; ++i) ASSERT_NE(producer_.try_claim(), 0U);
    commit(begin);
    producer_.drop(begin + 1);
    producer_.drop(begin + 2);
    commit(begin + 3);
    EXPECT_EQ(take(), begin);
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(take(), begin + 3);
    EXPECT_EQ(credit_, first_ - 1);
    consumer_.release(begin);
    EXPECT_EQ(credit_, begin + 2);
    consumer_.release(begin + 3);
    EXPECT_EQ(credit_, begin + 3);
}

TEST_P(ChunkRingTest, onlyDroppedChunksLeaveTheRingAsItWas) {
    for (Sequence i = 0; i < 11; ++i) {
        Sequence const claimed = producer_.try_claim();
        ASSERT_EQ(claimed, first_ + i);
        producer_.drop(claimed);
        EXPECT_EQ(take(), 0U);
    }
    claim_and_commit(1);
    EXPECT_EQ(take(), first_ + 11);
}

TEST(ChunkRingTypesTest, chunkWithNothingToSayBesideItsSize) {
    std::vector<Line> lines(4);
    std::uint64_t credit = 0;
    ChunkRingView const view{{lines.data(), &credit, 2, 1},
                             reinterpret_cast<std::byte*>(lines.data() + 2),
                             sizeof(Line)};
    HostMapped const far({StoreKind::cached, PublishMode::one_step});
    ChunkProducer<HostMapped, HostCached> producer(view, far);
    ChunkConsumer<NoMeta, HostCached, HostMapped> consumer(view, HostCached(), far);
    for (std::uint32_t i = 1; i < 10; ++i) {
        ASSERT_EQ(producer.try_claim(), i);
        producer.commit(i, 7 * i, NoMeta());
        ChunkView<NoMeta> taken{};
        ASSERT_TRUE(consumer.try_take(taken));
        EXPECT_EQ(taken.size, 7 * i);
        consumer.release(i);
    }
}

}  // namespace
}  // namespace carillon::test

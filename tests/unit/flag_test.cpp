// SPDX-License-Identifier: Apache-2.0
// Flag and doorbell: their meaning, and their accesses.
#include "carillon/detail/protocol/flag_protocol.hpp"

#include <gtest/gtest.h>

#include "support/accesses.hpp"
#include "support/recording.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Entries = std::vector<std::string>;

// One word; the log calls it the credit.
class FlagTest : public testing::Test {
   protected:
    std::uint64_t word_ = 0;
    AccessLog log_{RingView{nullptr, &word_, 1, 1}};
    RecordingFar far_{&log_};
    RecordingNear near_{&log_};
};

TEST_F(FlagTest, zeroedWordIsTheZeroValue) {
    EXPECT_EQ((FlagReader<std::uint64_t, RecordingNear>(&word_, near_).get()), 0U);
    EXPECT_FALSE((FlagReader<bool, RecordingNear>(&word_, near_).get()));
    EXPECT_EQ((FlagReader<double, RecordingNear>(&word_, near_).get()), 0.0);
}

// The other side may write any word. Catches a bool that is neither true nor false.
TEST_F(FlagTest, anyWordButZeroIsTrue) {
    for (std::uint64_t const word : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 40}) {
        word_ = word;
        EXPECT_TRUE((FlagReader<bool, RecordingNear>(&word_, near_).get())) << word;
    }
}

struct Pair {
    std::int32_t a;
    std::int16_t b;
};

// Catches a value that is read from another place than it was written to.
TEST_F(FlagTest, anyTypeOfUpTo8BytesComesBackAsItWas) {
    FlagWriter<double, RecordingFar>(&word_, far_).set(-1.25);
    EXPECT_EQ((FlagReader<double, RecordingNear>(&word_, near_).get()), -1.25);
    FlagWriter<Pair, RecordingFar>(&word_, far_).set({-7, 9});
    Pair const pair = FlagReader<Pair, RecordingNear>(&word_, near_).get();
    EXPECT_EQ(pair.a, -7);
    EXPECT_EQ(pair.b, 9);
}

TEST_F(FlagTest, setIsOneStoreAndOneCommit) {
    FlagWriter<int, RecordingFar>(&word_, far_).set(1);
    EXPECT_EQ(log_.take(), (Entries{"far.store_word credit", "far.commit 8 credit"}));
}

// Catches data that the value may overtake.
TEST_F(FlagTest, dataAreReleasedBeforeTheValue) {
    FlagWriter<int, RecordingFar>(&word_, far_).set(1, OutOfLine::written);
    EXPECT_EQ(log_.take(),
              (Entries{"far.release", "far.store_word credit", "far.commit 8 credit"}));
    DoorbellRinger<RecordingFar>(&word_, far_).ring(OutOfLine::written);
    EXPECT_EQ(log_.take(),
              (Entries{"far.release", "far.store_word credit", "far.commit 8 credit"}));
}

TEST_F(FlagTest, lookIsOneLoad) {
    (void)FlagReader<int, RecordingNear>(&word_, near_).get();
    EXPECT_EQ(log_.take(), Entries{"near.load_word credit"});
    (void)DoorbellListener<RecordingNear>(&word_, near_).heard();
    EXPECT_EQ(log_.take(), Entries{"near.load_word credit"});
}

TEST_F(FlagTest, ringsThatComeTogetherAreHeardTogetherAndNoneTwice) {
    DoorbellRinger<RecordingFar> ringer(&word_, far_);
    DoorbellListener<RecordingNear> listener(&word_, near_);
    EXPECT_EQ(listener.heard(), 0U);
    ringer.ring();
    EXPECT_EQ(listener.heard(), 1U);
    EXPECT_EQ(listener.heard(), 0U);
    for (int i = 0; i < 3; ++i) ringer.ring();
    EXPECT_EQ(listener.heard(), 3U);
    EXPECT_EQ(listener.heard(), 0U);
}

// Catches a policy that the flag was not made for: every pair of sides.
class FlagOverTest : public AccessTest {};
INSTANTIATE_TEST_SUITE_P(Over, FlagOverTest, testing::ValuesIn(all_accesses()), test_name<Access>);

TEST_P(FlagOverTest, latestValueIsSeen) {
    std::uint64_t word = 0;
    FlagWriter<std::uint64_t, AnyFar> writer(&word, GetParam().far_of(GetParam().producer));
    FlagReader<std::uint64_t, AnyNear> reader(&word, Access::near_of(GetParam().consumer));
    for (std::uint64_t value : {1U, 2U, 0xffffffffU}) {
        writer.set(value);
        EXPECT_EQ(reader.get(), value);
    }
}

}  // namespace
}  // namespace carillon::test

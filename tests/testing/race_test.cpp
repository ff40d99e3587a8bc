// SPDX-License-Identifier: Apache-2.0
// Without a sanitizer a race shows as replies that differ from seed to seed. The thread sanitizer
// reports it; its tests have a program of their own (races.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "carillon/testing.hpp"
#include "support/expect_error.hpp"
#include "testing/threaded_handlers.hpp"

namespace carillon::test {
namespace {

using carillon::testing::RaceError;
using carillon::testing::run_block;

class RaceTest : public ::testing::Test {
   protected:
    void SetUp() override {
        if (CARILLON_THREAD_SANITIZER != 0) GTEST_SKIP() << "the sanitizer reports the race";
    }
};

TEST_F(RaceTest, readOfWhatAnotherThreadWritesDiffersBySeed) {
    CARILLON_EXPECT_ERROR(run_block(ReadWrite(), 2), RaceError,
                          "testing::run_block: the 32 threads race: the reply to request 0 is 64 "
                          "with seed 0 and ");
}

struct NoNumber {
    static constexpr unsigned threads = 4;
    CARILLON_HD double operator()(int /*request*/) const {
        return std::numeric_limits<double>::quiet_NaN();
    }
};

TEST_F(RaceTest, aNanIsTheSameAsItself) { EXPECT_TRUE(std::isnan(run_block(NoNumber(), 1))); }

TEST_F(RaceTest, writesOfOneVariableDifferBySeed) {
    CARILLON_EXPECT_ERROR(run_block(WriteWrite(), 2), RaceError,
                          "the reply to request 0 is 33 with seed 0 and 2 with seed 1");
}

TEST_F(RaceTest, missingBarrierAfterTheReadDiffersBySeed) {
    CARILLON_EXPECT_ERROR(run_block(MissingBarrierAfterTheRead(), 2), RaceError,
                          "the 32 threads race");
}

// The first thread finds its own write: its reply is right, on a GPU too, and only the others show
// the race.
struct OnlyOthersSee {
    static constexpr unsigned threads = 64;
    CARILLON_HD int operator()(int request) const {
        auto& shared = block::shared<int, OnlyOthersSee>();
        if (block::thread_rank() == 0) shared = request;
        return shared;
    }
};

TEST_F(RaceTest, whatTheOtherThreadsReturnCountsToo) {
    CARILLON_EXPECT_ERROR(run_block(OnlyOthersSee(), 2), RaceError,
                          "the result of thread 1 for request 0 is 2 with seed 0 and ");
}

// A reply without ==, compared by its bytes, except those between its members.
struct Wide {
    char first;
    double second;
};
struct Widens {
    static constexpr unsigned threads = 32;
    bool races = true;
    CARILLON_HD Wide operator()(int request) const {
        return {'x', static_cast<double>(WriteWrite{races}(request))};
    }
};

TEST_F(RaceTest, repliesWithoutAComparisonAreComparedByTheirBytes) {
    EXPECT_EQ(run_block(Widens{.races = false}, 2).second, 2.0);
    CARILLON_EXPECT_ERROR(run_block(Widens(), 2), RaceError, "is the bytes 78 ");
}

}  // namespace
}  // namespace carillon::test

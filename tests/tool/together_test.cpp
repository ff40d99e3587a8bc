// SPDX-License-Identifier: Apache-2.0
#include "measure/together.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace carillon::tool {
namespace {

TEST(TogetherTest, noThreadBeginsBeforeAllArePrepared) {
    std::atomic<unsigned> prepared = 0;
    std::atomic<unsigned> too_early = 0;
    double const seconds = run_together(
        4, [&](unsigned) { ++prepared; }, [&](unsigned) { too_early += prepared == 4 ? 0U : 1U; });
    EXPECT_EQ(too_early, 0U);
    EXPECT_GE(seconds, 0);
}

TEST(TogetherTest, eachThreadHasItsIndex) {
    std::atomic<unsigned> sum = 0;
    run_together(
        4, [](unsigned) {}, [&](unsigned i) { sum += 1U << i; });
    EXPECT_EQ(sum, 15U);
}

TEST(TogetherTest, aThreadThatCannotPrepareItselfKeepsNobodyWaiting) {
    std::atomic<unsigned> worked = 0;
    auto const fail_first = [](unsigned i) {
        if (i == 0) throw std::runtime_error("no");
    };
    EXPECT_THROW(run_together(3, fail_first, [&](unsigned) { ++worked; }), std::runtime_error);
    EXPECT_EQ(worked, 2U);
}

TEST(TogetherTest, whatTheWorkThrowsIsRethrown) {
    auto const fail = [](unsigned i) {
        if (i == 2) throw std::runtime_error("no");
    };
    EXPECT_THROW(run_together(
                     3, [](unsigned) {}, fail),
                 std::runtime_error);
}

}  // namespace
}  // namespace carillon::tool

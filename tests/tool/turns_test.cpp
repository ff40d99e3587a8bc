// SPDX-License-Identifier: Apache-2.0
#include "measure/turns.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace carillon::tool {
namespace {

TEST(TurnsTest, eachHasATurnARoundAndNoneIsAlwaysTheFirst) {
    std::vector<std::size_t> turns;
    take_turns(4, 3, no_progress, [&](std::size_t rival) { turns.push_back(rival); });
    EXPECT_EQ(turns, (std::vector<std::size_t>{0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2}));
}

TEST(TurnsTest, progressGrowsToOneOverAllStages) {
    std::vector<double> shares;
    Progress const whole = [&](double share) { shares.push_back(share); };
    for (std::size_t stage = 0; stage < 2; ++stage) {
        take_turns(1, 2, progress_of_stage(whole, stage, 2), [](std::size_t /*rival*/) {});
    }
    EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST(TurnsTest, withoutRivalsNothingIsCalled) {
    take_turns(3, 0, no_progress, [](std::size_t /*rival*/) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace carillon::tool

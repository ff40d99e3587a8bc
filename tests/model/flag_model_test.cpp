// SPDX-License-Identifier: Apache-2.0
// Flags and doorbells: the data of every number that is seen are there.
#include "model/models/count_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

template <class Ends, class Machine>
void expect_success_on(Search const& search) {
    EXPECT_EQ((outcome<CountModel<Ends, ToDevice<Machine>, three_numbers>>(search)), "SUCCESS");
    EXPECT_EQ((outcome<CountModel<Ends, ToHost<Machine>, three_numbers>>(search)), "SUCCESS");
}

template <class Ends>
void expect_success(Search const& search) {
    expect_success_on<Ends, Hardware<all_quads>>(search);
    expect_success_on<Ends, Emulated<all_quads>>(search);
}

TEST(FlagModelTest, everyExecutionOfAFlagIsRight) { expect_success<AsFlag>(every_execution); }
TEST(FlagModelTest, everyExecutionOfADoorbellIsRight) {
    expect_success<AsDoorbell>(every_execution);
}
TEST(FlagModelTest, randomExecutionsOfAFlag) { expect_success<AsFlag>(random_executions(20'000)); }
TEST(FlagModelTest, randomExecutionsOfADoorbell) {
    expect_success<AsDoorbell>(random_executions(20'000));
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Bulk copies: messages of several lines and rows of messages, whose quads come in any order.
#include "model/models/bulk_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

template <class Way, RingPlan plan>
void expect_all_taken(Search const& search) {
    using Model = BulkModel<Way, plan>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, plan.messages);  // or nothing was checked
}

TEST(BulkModelTest, oneSwitchOfTwoLines) {
    expect_all_taken<LongOf<first_quad>, few_copies>(switching_at_most(1));
}
TEST(BulkModelTest, oneSwitchOfRows) {
    expect_all_taken<RowsOf<first_and_last_quad>, few_rows>(switching_at_most(1));
}
TEST(BulkModelTest, randomExecutionsAcrossTheWrapOfTheTags) {
    expect_all_taken<LongOf<all_quads>, copies_across_the_wrap>(random_executions(50'000));
    expect_all_taken<RowsOf<all_quads>, rows_across_the_wrap>(random_executions(50'000));
}

// Why a handler with out_of_line answers by plain stores.
constexpr RingPlan with_data{.capacity = 2, .messages = 2, .data = OutOfLine::written};

TEST(BulkModelTest, dataOfACopyAreARace) {
    EXPECT_EQ((quiet_outcome<BulkModel<LongOf<first_quad>, with_data>>(random_executions(1000))),
              "DATA RACE");
}

}  // namespace
}  // namespace carillon::test

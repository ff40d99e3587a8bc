// SPDX-License-Identifier: Apache-2.0
// Bulk copies: messages of several lines and rows of messages, whose quads come in any order.
#include "model/models/bulk_model.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

template <class Message, BulkTraffic traffic>
void expect_all_taken(Search const& search) {
    using Model = BulkModel<Message, traffic>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, traffic.messages);  // or nothing was checked
}

TEST(BulkModelTest, oneSwitchOfTwoLines) {
    expect_all_taken<TwoLines, few_copies>(switching_at_most(1));
}
TEST(BulkModelTest, oneSwitchOfRows) { expect_all_taken<Message, few_rows>(switching_at_most(1)); }
TEST(BulkModelTest, randomExecutionsAcrossTheWrapOfTheTags) {
    expect_all_taken<TwoLines, copies_across_the_wrap>(random_executions(50'000));
    expect_all_taken<Message, rows_across_the_wrap>(random_executions(50'000));
}

// Why a handler with out_of_line answers by plain stores.
constexpr BulkTraffic with_data{
    .capacity = 2, .messages = 2, .quads = first_quad, .data = OutOfLine::written};

TEST(BulkModelTest, dataOfACopyAreARace) {
    EXPECT_EQ((quiet_outcome<BulkModel<TwoLines, with_data>>(random_executions(1000))),
              "DATA RACE");
}

}  // namespace
}  // namespace carillon::test

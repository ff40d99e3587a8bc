// SPDX-License-Identifier: Apache-2.0
// A mailbox whose writer does not wait: values are whole, never go back, and the last one arrives.
#include "model/models/count_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
using namespace detail;
namespace {

template <class Way, std::size_t lines, CountPlan plan>
void expect_values(Search const& search) {
    using Model = CountModel<AsMailbox<LinesOf<lines>>, Way, plan>;
    Model::most_read = 0;
    Model::skipped_some = false;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_read, plan.values);
    EXPECT_TRUE(Model::skipped_some);
}

template <class Machine, std::size_t lines, CountPlan plan>
void expect_both_ways(Search const& search) {
    expect_values<ToDevice<Machine>, lines, plan>(search);
    expect_values<ToHost<Machine>, lines, plan>(search);
}

using Reduced = Hardware<first_and_last_quad>;
using EmulatedQuad = Emulated<first_quad>;
// Every quad arrives in halves, although it is stored in one step.
using Torn = Hardware<first_quad, TearingCpu<Evicted::either>>;

// The third value goes where the first is; in one slot every value is written over the last.
constexpr CountPlan lapped{.slots = 2, .looks = 1, .data = OutOfLine::none};
constexpr CountPlan lapped_with_data{.slots = 2, .looks = 1};
constexpr CountPlan one_slot{.slots = 1, .values = 2, .looks = 2};
// With endless looks a value that never comes is a livelock.
constexpr CountPlan endless_looks{.slots = 2, .values = 4};
constexpr CountPlan across_the_wrap{.slots = 4, .values = 10, .first = (Sequence{1} << 32) - 4};

TEST(MailboxModelTest, everyExecutionOfOneLineIsRight) {
    expect_both_ways<Reduced, 1, lapped_with_data>(every_execution);
    expect_both_ways<Reduced, 1, one_slot>(every_execution);
}
TEST(MailboxModelTest, everyExecutionOfTwoLinesIsRight) {
    expect_both_ways<Hardware<first_quad>, 2, lapped>(every_execution);
}
TEST(MailboxModelTest, everyExecutionWithQuadsInHalvesIsRight) {
    expect_values<ToDevice<Torn>, 1, one_slot>(every_execution);
    expect_both_ways<EmulatedQuad, 1, lapped>(every_execution);
    expect_both_ways<EmulatedQuad, 1, one_slot>(every_execution);
}
TEST(MailboxModelTest, oneSwitchAndNoBoundOnLooks) {
    expect_both_ways<Reduced, 2, endless_looks>(switching_at_most(1));
    expect_both_ways<EmulatedQuad, 2, endless_looks>(switching_at_most(1));
}
TEST(MailboxModelTest, randomExecutionsAcrossTheWrapOfTheTags) {
    expect_both_ways<Hardware<all_quads>, 2, across_the_wrap>(random_executions(20'000));
    expect_both_ways<Emulated<all_quads>, 2, across_the_wrap>(random_executions(20'000));
    expect_values<ToDevice<Hardware<all_quads, TearingCpu<Evicted::either>>>, 2, across_the_wrap>(
        random_executions(20'000));
}

}  // namespace
}  // namespace carillon::test

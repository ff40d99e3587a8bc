// SPDX-License-Identifier: Apache-2.0
// Channels on the adversary's machine, with messages of one line and of several. Replies leave by
// quads or by bulk copies; requests are served one by one or in rows.
#include "adversary/scenarios/channel_scenario.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryChannelTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryChannelTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

// The host's stores do not matter for bulk copies, which the device sends.
class AdversaryChannelBulkTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryChannelBulkTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

template <class Messages>
std::string channel(Policies const& policies) {
    return ChannelScenario<Messages>(policies).run();
}

TEST_P(AdversaryChannelTest, everyRequestGetsItsReplyAndTheLoopStartsAndEnds) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), channel<ChannelMessages<Whole, Whole>>));
}

// Messages of two lines, the last with one quad or with all, and of three lines.
using TwoLines = SizedWords<56>;
using TwoFullLines = SizedWords<96>;
using ThreeLines = SizedWords<104>;
static_assert(lines_of<TwoLines> == 2 && lines_of<TwoFullLines> == 2 && lines_of<ThreeLines> == 3);

TEST_P(AdversaryChannelTest, messagesOfSeveralLinesGetTheirReplies) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        switch (policies.machine().random().below(3)) {
            case 0:
                return channel<ChannelMessages<TwoLines, ThreeLines>>(policies);
            case 1:
                return channel<ChannelMessages<ThreeLines, TwoFullLines>>(policies);
            default:
                return channel<ChannelMessages<TwoFullLines, TwoLines>>(policies);
        }
    }));
}

TEST_P(AdversaryChannelBulkTest, repliesOfSeveralLinesArriveByBulkCopies) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2)
                   ? channel<BulkMessages<TwoLines, ThreeLines>>(policies)
                   : channel<BulkMessages<Whole, TwoFullLines>>(policies);
    }));
}

// Rows of eight, and of sixteen.
using OneQuad = SizedWords<8>;
using TwoQuads = SizedWords<24>;
static_assert(carillon::detail::row_of<Whole, Whole> == 8);
static_assert(carillon::detail::row_of<OneQuad, TwoQuads> == 16);

TEST_P(AdversaryChannelTest, requestsThatAreServedInRowsHaveTheirDataAndGetTheirReplies) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2)
                   ? channel<RowMessages<Whole, Whole>>(policies)
                   : channel<RowMessages<TwoQuads, OneQuad>>(policies);
    }));
}

TEST_P(AdversaryChannelBulkTest, rowsOfRepliesArriveByBulkCopies) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2)
                   ? channel<BulkMessages<Whole, Whole>>(policies)
                   : channel<BulkMessages<OneQuad, TwoQuads>>(policies);
    }));
}

// One configuration for each bus: five threads vote at every look.
class AdversaryChannelLanesTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryChannelLanesTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryChannelLanesTest, messagesThatLanesShareOutGetTheirReplies) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return policies.machine().random().one_in(2)
                   ? ChannelScenario<ChannelMessages<ThreeLines, TwoLines>>(policies)
                         .run_with_lanes()
                   : ChannelScenario<ChannelMessages<TwoFullLines, ThreeLines>>(policies)
                         .run_with_lanes();
    }));
}

constexpr Configuration broken_channel{{}, {StoreKind::avx2, PublishMode::one_step}};

// Why a handler with out_of_line answers by plain stores.
struct BulkWithData : BulkMessages<TwoLines, TwoLines> {
    static constexpr bool replies_refer = true;
};

TEST(AdversaryBreaksTest, repliesByBulkCopyAreAheadOfTheirData) {
    EXPECT_TRUE(fails_for_some_seed(broken_channel, "without data", channel<BulkWithData>));
}

// A block that ends while its copies are in flight.
struct UnsettledGpu : AdversaryBulkGpu {
    using AdversaryBulkGpu::AdversaryBulkGpu;
    static void settle_bulk() {}
};
struct Unsettled : BulkMessages<TwoLines, TwoLines> {
    using Far = BasicDeviceBulkFar<UnsettledGpu>;
    static Far far(Machine& machine) {
        machine.drag_copies();
        return Far(true, UnsettledGpu(machine));
    }
};

TEST(AdversaryBreaksTest, aBlockThatEndsBeforeItsBulkCopiesAreThere) {
    EXPECT_TRUE(fails_for_some_seed(broken_channel, "still writing", channel<Unsettled>));
}

}  // namespace
}  // namespace carillon::test

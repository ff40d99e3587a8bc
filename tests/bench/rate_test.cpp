// SPDX-License-Identifier: Apache-2.0
#include "rate/rate.hpp"

#include <gtest/gtest.h>

#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

TEST(RateTest, theFigureIsTheMedianOfTheRounds) {
    std::vector<double> odd{5, 1, 3};
    RateResult const of_odd = over_rounds("a", RateUnit::per_second, odd);
    EXPECT_EQ(of_odd.median, 3);
    EXPECT_EQ(of_odd.min, 1);
    EXPECT_EQ(of_odd.max, 5);
    std::vector<double> even{4, 1, 2, 9};
    EXPECT_EQ(over_rounds("b", RateUnit::ns, even).median, 3);
}

TEST(RateTest, jsonNamesTheUnitAndKeepsTheParameters) {
    RateResult result{"x", RateUnit::ns, 2, 1, 3, {{"batch", 64}}};
    nlohmann::json const json = to_json(result);
    EXPECT_EQ(json["ns"], 2);
    EXPECT_EQ(json["ns_min"], 1);
    EXPECT_EQ(json["batch"], 64);
    EXPECT_FALSE(json.contains("per_second"));
}

TEST(RateTest, aSourceKnowsTheSumOfWhatWasSent) {
    Source source(7);
    Tally sum;
    for (std::size_t most : {1U, 3U, 200U, 500U, 512U, 5U}) {
        auto const messages = source.next_messages(most);
        ASSERT_FALSE(messages.empty());
        ASSERT_LE(messages.size(), most);
        std::size_t const sent = (messages.size() + 1) / 2;  // the ring had no more room
        for (auto const& each : messages.first(sent)) sum.add(each.sum());
        source.sent(sent);
    }
    EXPECT_EQ(source.tally(), sum);
}

TEST(RateTest, whatIsLostOrChangedIsAnError) {
    EXPECT_NO_THROW(require_equal("x", {3, 10}, {3, 10}));
    EXPECT_THROW(require_equal("x", {3, 10}, {2, 10}), Error);
    EXPECT_THROW(require_equal("x", {3, 10}, {3, 11}), Error);
}

}  // namespace
}  // namespace carillon::tool

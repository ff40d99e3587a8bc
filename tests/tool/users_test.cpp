// SPDX-License-Identifier: Apache-2.0
#include "rtt/users.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "measure/turns.hpp"
#include "rtt/users/users_rows.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

UsersFigure figure(std::string table, std::string name) {
    UsersFigure figure;
    figure.table = std::move(table);
    figure.name = std::move(name);
    return figure;
}

TEST(UsersTest, thereAreEnoughRoundsAndPausesForHoweverFewIterations) {
    UsersOptions const few = UsersOptions().scaled(1);
    EXPECT_EQ(few.iterations, 1U);
    EXPECT_EQ(few.rounds, 1U);
    EXPECT_EQ(few.pauses, 1U);
    UsersOptions const many = UsersOptions().scaled(1'000'000);
    EXPECT_EQ(many.iterations, 50'000U);
    EXPECT_EQ(many.rounds, 5U);
    EXPECT_EQ(many.pauses, 500U);
    UsersOptions chosen;
    chosen.iterations = 70'000;
    EXPECT_EQ(chosen.scaled(10).iterations, 70'000U);
}

TEST(UsersTest, threadsBeyondTheProcessorsAreLeftOutWithTheReason) {
    UsersRows rows;
    add_thread_rows({Device::open("emulated"), 1, 1ms, 1, 2}, rows);
    for (UsersRow const& row : rows) {
        bool const left_out = row.fields["threads"] > 2;
        EXPECT_EQ(row.measure == nullptr, left_out) << row.name;
        EXPECT_EQ(row.why_not.find("processors") != std::string::npos, left_out) << row.name;
    }
}

TEST(UsersTest, everyRowHasFiguresOrTheReasonWhyNot) {
    UsersOptions options;
    options.iterations = 2;
    options.pause = 10us;
    UsersResult const result =
        run_users(Device::open("emulated"), options.scaled(100), no_progress);
    EXPECT_FALSE(result.figures.empty());
    for (UsersFigure const& each : result.figures) {
        bool const measured = each.latency.count != 0 || !each.rounds.empty();
        EXPECT_NE(measured, !each.why_not.empty()) << each.table << " " << each.name;
    }
}

TEST(UsersTest, jsonHasTheFieldsAndTheMedianOfTheRounds) {
    UsersFigure of_threads = figure("threads", "call-2-threads");
    of_threads.fields = {{"threads", 2}};
    Samples samples{30, 10, 20};
    of_threads.latency = summarize("call-2-threads", samples);
    of_threads.rounds = {1e6, 2e6, 4e6, 8e6};
    nlohmann::json const json = to_json(of_threads);
    EXPECT_EQ(json["table"], "threads");
    EXPECT_EQ(json["name"], "call-2-threads");
    EXPECT_EQ(json["threads"], 2);
    EXPECT_EQ(json["p50_ns"], 20);
    EXPECT_EQ(json["per_second"], 3e6);
    EXPECT_EQ(json["per_second_min"], 1e6);
    EXPECT_EQ(json["per_second_max"], 8e6);
    EXPECT_FALSE(json.contains("quantiles_ns"));
    EXPECT_FALSE(json.contains("why_not"));
}

TEST(UsersTest, whatWasNotMeasuredSaysWhyAndHasNoFigures) {
    UsersFigure left_out = figure("threads", "call-12-threads");
    left_out.why_not = "too few processors";
    nlohmann::json const json = to_json(left_out);
    EXPECT_EQ(json["why_not"], "too few processors");
    EXPECT_FALSE(json.contains("p50_ns"));
    EXPECT_FALSE(json.contains("per_second"));
    UsersResult result;
    result.figures = {left_out, figure("requests", "channel")};
    std::string const text = users_tables(result);
    EXPECT_NE(text.find("call-12-threads           not measured: too few processors\n"),
              std::string::npos);
    EXPECT_NE(text.find("\nchannel "), std::string::npos);
}

}  // namespace
}  // namespace carillon::tool

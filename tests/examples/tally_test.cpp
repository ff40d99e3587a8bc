// SPDX-License-Identifier: Apache-2.0
// The handler and the host's pass, each against known answers; the checksums were computed by
// another program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "carillon/error.hpp"
#include "dbn_bytes.hpp"
#include "examples/replay/replay.hpp"

namespace carillon::example {
namespace {

constexpr MboRecord one_trade{.length = 14,
                              .type = 0xa0,
                              .publisher = 1,
                              .instrument = 17'077,
                              .ts_event = 1000,
                              .order_id = 7,
                              .price = -4'810'250'000'000,
                              .size = 3,
                              .flags = 0x80,
                              .channel = 2,
                              .action = Action::trade,
                              .side = 'N',
                              .ts_recv = 2000,
                              .ts_in_delta = -5,
                              .sequence = 9};
constexpr MboTally tally_of_one_trade{
    .trade = 1, .contracts_traded = 3, .checksum = 0xdbcf'6ca6'f949'f0beU};

[[nodiscard]] MboTally handled(std::vector<MboRecord> const& records) {
    TallyRecords handler;
    MboTally reply;
    for (MboRecord const& record : records) reply = handler(record);
    return reply;
}

[[nodiscard]] std::vector<MboRecord> sample_records(std::uint32_t count) {
    std::vector<MboRecord> records;
    for (std::uint32_t i = 0; i < count; ++i) records.push_back(sample_record(i));
    return records;
}

TEST(TallyRecordsTest, aTradeIsCountedWithItsSize) {
    EXPECT_EQ(handled({one_trade}), tally_of_one_trade);
}

TEST(TallyRecordsTest, theHostsPassCountsATradeWithItsSize) {
    EXPECT_EQ(tally_on_host(std::vector{one_trade}), tally_of_one_trade);
}

// Ten records: A C M T F R A C M N; the one trade has size 4.
TEST(TallyRecordsTest, everyKindOfActionHasItsCount) {
    std::vector<MboRecord> records = sample_records(9);
    records.push_back(one_trade);
    records.back().action = Action::none;
    for (MboTally const& tally : {handled(records), tally_on_host(records)}) {
        EXPECT_EQ(tally.add, 2U);
        EXPECT_EQ(tally.cancel, 2U);
        EXPECT_EQ(tally.modify, 2U);
        EXPECT_EQ(tally.trade, 1U);
        EXPECT_EQ(tally.fill, 1U);
        EXPECT_EQ(tally.clear, 1U);
        EXPECT_EQ(tally.none, 1U);
        EXPECT_EQ(tally.contracts_traded, 4U);
        EXPECT_EQ(tally.records(), 10U);
    }
}

// The handler counts its messages, the host's pass counts the records.
TEST(TallyRecordsTest, theHandlerAndTheHostsPassAgree) {
    EXPECT_EQ(handled(sample_records(500)), tally_on_host(sample_records(500)));
}

// Their sum passes 2^32.
TEST(TallyRecordsTest, tradesOfTheLargestSizeAreSummedExactly) {
    MboRecord record = one_trade;
    record.size = 0xffff'ffffU;
    EXPECT_EQ(handled({record, record, record}).contracts_traded, 3 * 0xffff'ffffULL);
    EXPECT_EQ(tally_on_host(std::vector{record, record}).contracts_traded, 2 * 0xffff'ffffULL);
}

TEST(TallyRecordsTest, theChecksumDependsOnTheOrder) {
    auto const a = sample_record(0);
    auto const b = sample_record(6);
    EXPECT_NE(handled({a, b}).checksum, handled({b, a}).checksum);
}

TEST(TallyRecordsTest, theChecksumDependsOnEveryField) {
    auto const changed = [](auto change) {
        MboRecord record = one_trade;
        change(record);
        return handled({record}).checksum != tally_of_one_trade.checksum;
    };
    EXPECT_TRUE(changed([](MboRecord& r) { r.length ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.type ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.ts_event ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.ts_recv ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.order_id ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.price ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.instrument ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.size ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.ts_in_delta ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.sequence ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.publisher ^= 0x8000; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.flags ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.channel ^= 1; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.action = Action::fill; }));
    EXPECT_TRUE(changed([](MboRecord& r) { r.side = 'A'; }));
}

TEST(TallyRecordsTest, aReplyToAnotherCommandIsRefused) {
    EXPECT_NO_THROW(require_reply_to(9, handled(sample_records(9))));
    for (std::size_t const sent : {8U, 10U}) {
        EXPECT_THROW(require_reply_to(sent, handled(sample_records(9))), Error) << sent;
    }
}

TEST(TallyRecordsTest, jsonHasEveryCountAndTheChecksumAsText) {
    auto const expected = nlohmann::json::parse(
        R"({"add": 0, "cancel": 0, "modify": 0, "trade": 1, "fill": 0, "clear": 0, "none": 0,
            "contracts_traded": 3, "checksum": "dbcf6ca6f949f0be"})");
    EXPECT_EQ(to_json(tally_of_one_trade), expected);
    EXPECT_EQ(to_json(MboTally{.checksum = 1})["checksum"], "0000000000000001");
}

TEST(TallyRecordsTest, theTableMarksWhatDiffers) {
    MboTally other = tally_of_one_trade;
    EXPECT_EQ(tally_table(other, tally_of_one_trade).find("differ"), std::string::npos);
    other.contracts_traded = 4;
    EXPECT_EQ(tally_table(other, tally_of_one_trade),
              "                            device              host\n"
              "add                              0                 0\n"
              "cancel                           0                 0\n"
              "modify                           0                 0\n"
              "trade                            1                 1\n"
              "fill                             0                 0\n"
              "clear                            0                 0\n"
              "none                             0                 0\n"
              "contracts_traded                 4                 3  differ\n"
              "checksum          dbcf6ca6f949f0be  dbcf6ca6f949f0be\n");
}

}  // namespace
}  // namespace carillon::example

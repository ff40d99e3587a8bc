// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.hpp"

#include <gtest/gtest.h>

#include <string>

namespace carillon::tool {
namespace {

OwnerReport metrics_report() {
    OwnerReport report{"/run/a.sock"};
    report.owner = {"desk", 17, 99};
    WatchedBlock block{"quotes"};
    block.emulated = true;
    block.served.counters = {5, 4, 3, 2, 1, 2};
    block.served.gone = {100, 100, 90, 10, 0, 0};
    block.served.beats = {7, std::chrono::milliseconds(1500)};
    block.served.client = "feed";
    block.served.process = 18;
    block.served.user = 1000;
    report.blocks = {block};
    return report;
}

void expect_line(std::string const& text, std::string const& line) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\n\n" << text;
}

TEST(MetricsTest, everyCounterIsTheSumOfTheClientAndOfThoseBefore) {
    std::string const text = to_metrics({metrics_report()});
    std::string const block = R"(path="/run/a.sock",object="quotes",block="0")";
    expect_line(text, R"(carillon_up{path="/run/a.sock"} 1)");
    expect_line(text, R"(carillon_owner_info{path="/run/a.sock",name="desk",process="17"} 1)");
    expect_line(text, R"(carillon_object_info{path="/run/a.sock",object="quotes",kind="kernel",)"
                      R"(state="running",emulated="true"} 1)");
    expect_line(text, "carillon_requests_submitted_total{" + block + "} 105");
    expect_line(text, "carillon_requests_answered_total{" + block + "} 104");
    expect_line(text, "carillon_replies_taken_total{" + block + "} 93");
    expect_line(text, "carillon_requests_dropped_total{" + block + "} 12");
    expect_line(text, "carillon_ring_stalls_total{" + block + "} 1");
    expect_line(text, "carillon_requests_outstanding{" + block + "} 2");
    expect_line(text, "carillon_block_heartbeats_total{" + block + "} 7");
    expect_line(text, "carillon_block_heartbeat_age_seconds{" + block + "} 1.500");
    expect_line(text, "carillon_block_activity{" + block + R"(,activity="idle"} 1)");
    expect_line(text, "carillon_block_activity{" + block + R"(,activity="stuck"} 0)");
    expect_line(text, "carillon_block_lent{" + block + "} 1");
}

TEST(MetricsTest, objectsHaveNoHeartbeatAndStoresHaveTheirBuffers) {
    OwnerReport report = metrics_report();
    WatchedBlock ring{"ticks", ObjectKind::ring_to_host};
    ring.served.counters.submitted = 3;
    report.blocks = {ring};
    report.store = {5, 4, 300, 1000};
    std::string const text = to_metrics({report});
    expect_line(text, R"(carillon_object_info{path="/run/a.sock",object="ticks",)"
                      R"(kind="ring to the host",state="running",emulated="false"} 1)");
    expect_line(text,
                "carillon_requests_submitted_total"
                R"({path="/run/a.sock",object="ticks",block="0"} 3)");
    EXPECT_EQ(text.find("carillon_block_heartbeats_total{"), std::string::npos) << text;
    expect_line(text, R"(carillon_store_buffers{path="/run/a.sock"} 5)");
    expect_line(text, R"(carillon_store_sealed_buffers{path="/run/a.sock"} 4)");
    expect_line(text, R"(carillon_store_bytes{path="/run/a.sock"} 300)");
    expect_line(text, R"(carillon_store_bytes_limit{path="/run/a.sock"} 1000)");
}

TEST(MetricsTest, ownerThatHasGoneIsNotUp) {
    std::string const text = to_metrics({{"/run/gone.sock", "nobody"}, metrics_report()});
    expect_line(text, R"(carillon_up{path="/run/gone.sock"} 0)");
    expect_line(text, R"(carillon_up{path="/run/a.sock"} 1)");
    EXPECT_EQ(text.find("gone.sock\",object"), std::string::npos);
}

TEST(MetricsTest, blockWithoutAClientHasItsSumsAlone) {
    OwnerReport report = metrics_report();
    report.blocks[0].served.client.clear();
    report.blocks[0].served.counters = {};
    std::string const text = to_metrics({report});
    expect_line(text, R"(carillon_block_lent{path="/run/a.sock",object="quotes",block="0"} 0)");
}

// Catches a scraper that clients fill by coming again and again under other names.
TEST(MetricsTest, labelsAreBoundedWhateverClientsCallThemselves) {
    OwnerReport report = metrics_report();
    std::string const before = to_metrics({report});
    report.blocks[0].served.client = "another";
    report.blocks[0].served.process = 99;
    EXPECT_EQ(to_metrics({report}), before);
}

// Catches a client's name that makes the scraper refuse everything.
TEST(MetricsTest, labelsAreEscapedAndAreUtf8) {
    EXPECT_EQ(label_value("a\"b\\c\nd"), R"(a\"b\\c\nd)");
    EXPECT_EQ(label_value("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(label_value("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(label_value(""), "");
}

}  // namespace
}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "top/top.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <carillon/kernel.hpp>
#include <carillon/shared_objects.hpp>
#include <carillon/store.hpp>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

struct Thrice {
    int operator()(int number) const { return 3 * number; }
};

// An owner of one block, `seconds` after the beginning.
OwnerReport report_at(int seconds, std::uint64_t submitted, std::uint64_t gone) {
    OwnerReport report{"a.sock"};
    report.owner = {"desk", 17, 99};
    report.when += std::chrono::seconds(seconds);
    WatchedBlock block{"desk"};
    block.served.client = "feed";
    block.served.counters.submitted = submitted;
    block.served.gone.submitted = gone;
    report.blocks = {block};
    return report;
}

TEST(TopTest, rateIsOfAllClientsThatABlockHasHad) {
    OwnerReport const before = report_at(1, 100, 10);
    EXPECT_EQ(rates(before, report_at(3, 300, 10)).at(0).submitted, 100);
    EXPECT_EQ(rates(before, report_at(2, 5, 110)).at(0).submitted, 5) << "another client";
}

TEST(TopTest, whatCannotBeIsNoRate) {
    OwnerReport const before = report_at(1, 100, 0);
    EXPECT_EQ(rates(before, report_at(2, 50, 0)).at(0).submitted, 0) << "it runs backwards";
    EXPECT_EQ(rates(before, report_at(1, 200, 0)).at(0).submitted, 0) << "no time has passed";
    EXPECT_EQ(rates({}, report_at(2, 200, 0)).at(0).submitted, 0) << "there is no report before";
    OwnerReport other = report_at(2, 200, 0);
    other.owner.instance = 100;
    EXPECT_EQ(rates(before, other).at(0).submitted, 0) << "another owner";
    OwnerReport gone{"a.sock", "nobody is there"};
    EXPECT_TRUE(rates(before, gone).empty());
}

// A log has as many blocks as it has had readers at a time.
TEST(TopTest, objectsBehindOneThatHasGrownHaveTheirRates) {
    OwnerReport const before = report_at(1, 100, 0);
    OwnerReport now = report_at(2, 150, 0);
    now.blocks.insert(now.blocks.begin(), WatchedBlock{"log"});
    auto const all = rates(before, now);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].submitted, 0) << "it was not there before";
    EXPECT_EQ(all[1].submitted, 50);
}

// The report of an owner with two blocks.
OwnerReport two_blocks() {
    OwnerReport report = report_at(1, 100, 0);
    report.blocks.push_back(report.blocks[0]);
    report.blocks[1].index = 1;
    report.blocks[1].served.client = "a client with a long name";
    return report;
}

std::vector<std::string> lines_of(std::string const& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

TEST(TopTest, aTableIsAsNarrowAsItShallBe) {
    std::size_t shown = 0;
    for (std::size_t const width : {40U, 60U, 80U, 120U, 200U}) {
        std::vector<std::string> const lines = lines_of(to_text({}, {two_blocks()}, width));
        for (std::string const& line : lines) EXPECT_LE(line.size(), width) << line;
        EXPECT_NE(lines.at(1).find("sent/s"), std::string::npos) << lines[1];
        EXPECT_GE(lines[1].size(), shown) << "more room, not fewer columns";
        shown = lines[1].size();
    }
    EXPECT_NE(to_text({}, {two_blocks()}).find("beats/s"), std::string::npos);
}

TEST(TopTest, theBlocksOfAnOwnerHaveATotal) {
    std::vector<std::string> const lines = lines_of(to_text({}, {two_blocks()}));
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_TRUE(lines[4].starts_with("  total ")) << lines[4];
    EXPECT_NE(lines[4].find(" 200 "), std::string::npos) << lines[4];
    EXPECT_EQ(lines_of(to_text({}, {report_at(1, 100, 0)})).size(), 3U)
        << "of one block there is none";
}

TEST(TopTest, everyNumberOfAHostileClientIsShown) {
    OwnerReport report = report_at(1, ~0ULL, 0);
    report.blocks[0].served.counters = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0U};
    std::string const text = to_text({}, {report});
    EXPECT_NE(text.find(" 18446744073709551615 "), std::string::npos) << text;
    nlohmann::json const json = to_json({}, {report});
    EXPECT_EQ(json["owners"][0]["blocks"][0]["counters"]["stalls"], ~0ULL);
}

class WatchedOwnersTest : public testing::Test {
   protected:
    using Kernel = PersistentKernel<Thrice, SharedChannels>;

    [[nodiscard]] std::string path(std::string const& name) const {
        return (folder_.path() / name).string();
    }
    [[nodiscard]] static Kernel kernel() {
        return Kernel(Device::open("emulated"), {.blocks = 2, .idle = IdlePolicy::park()});
    }

   private:
    test::TemporaryDirectory folder_;
};

TEST_F(WatchedOwnersTest, ownersAreShownBesideOneThatIsNotThere) {
    Kernel const served = kernel();
    Server const server = served.serve(path("a"), {}, "thrice");
    Connection const client(path("a"), {.name = "a feed"});
    auto channel = client.channel<int, int>("thrice");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(channel.call(i, 10s), 3 * i);
    WatchedOwners owners({path("b"), path("a")}, "test", 10s);
    std::vector<OwnerReport> const now = owners.ask();
    EXPECT_NE(now.at(0).error, "");
    ASSERT_EQ(now.at(1).blocks.size(), 2U);
    EXPECT_EQ(now[1].blocks[0].served.counters.submitted, 10U);
    std::string const text = to_text({}, now);
    EXPECT_NE(text.find("/b: "), std::string::npos) << text;
    EXPECT_NE(text.find("No such file"), std::string::npos) << text;
    EXPECT_NE(text.find(" a feed "), std::string::npos) << text;
    EXPECT_NE(text.find(", EMULATED device\n"), std::string::npos) << text;
    nlohmann::json const json = to_json({}, now);
    EXPECT_EQ(json["owners"][0]["error"], now[0].error);
    EXPECT_EQ(json["owners"][1]["blocks"][0]["client"], "a feed");
    EXPECT_EQ(json["owners"][1]["blocks"][0]["process"], ::getpid());
    EXPECT_FALSE(json["owners"][1]["blocks"][1].contains("client"));
}

TEST_F(WatchedOwnersTest, objectsAndTheStoreAreShownBesideKernels) {
    Kernel const served = kernel();
    Server server = served.serve(path("a"), {}, "thrice");
    SharedRing<int, Direction::to_device> const ring(Device::open("emulated"), {.capacity = 4});
    server.add("ticks", ring);
    Store const store(Device::open("emulated"), {.bytes = 1U << 20U});
    server.add(store);
    Buffer const sealed = store.create("table", 100).seal();
    auto ticks = Connection(path("a")).ring<int, Direction::to_device>("ticks");
    ASSERT_TRUE(ticks.try_push(1));
    WatchedOwners owners({path("a")}, "test", 10s);
    std::vector<OwnerReport> const now = owners.ask();
    ASSERT_EQ(now.at(0).blocks.size(), 3U) << now[0].error;
    EXPECT_EQ(now[0].blocks[2].kind, ObjectKind::ring_to_device);
    EXPECT_EQ(now[0].blocks[2].served.counters.submitted, 1U);
    std::string const text = to_text({}, now);
    EXPECT_NE(text.find("  ticks "), std::string::npos) << text;
    EXPECT_NE(text.find("  store: 1 buffers, 1 sealed, in 65536 of 1048576 bytes of memory\n"),
              std::string::npos)
        << text;
    nlohmann::json const json = to_json({}, now);
    EXPECT_EQ(json["owners"][0]["blocks"][2]["kind"], "ring to the device");
    EXPECT_EQ(json["owners"][0]["store"]["sealed"], 1);
}

TEST_F(WatchedOwnersTest, ownerThatIsStartedAgainIsAskedAnew) {
    Kernel const served = kernel();
    WatchedOwners owners({path("a")}, "test", 10s);
    std::optional<Server> server = served.serve(path("a"));
    std::vector<OwnerReport> const first = owners.ask();
    EXPECT_EQ(first.at(0).error, "");
    server.reset();
    EXPECT_NE(owners.ask().at(0).error, "");
    server = served.serve(path("a"));
    std::vector<OwnerReport> const second = owners.ask();
    EXPECT_EQ(second.at(0).error, "");
    EXPECT_NE(second.at(0).owner.instance, first.at(0).owner.instance);
}

}  // namespace
}  // namespace carillon::tool

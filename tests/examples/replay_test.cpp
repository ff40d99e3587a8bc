// SPDX-License-Identifier: Apache-2.0
// A feed through a persistent kernel on the emulated device.
#include "examples/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "carillon/error.hpp"
#include "dbn_bytes.hpp"

namespace carillon::example {
namespace {

[[nodiscard]] dbn::MboFile synthetic_file(std::uint32_t records) {
    test::TemporaryDirectory const directory;
    DbnBytes bytes;
    bytes.header();
    for (std::uint32_t i = 0; i < records; ++i) bytes.record(sample_record(i));
    return dbn::MboFile::read(bytes.write_to(directory));
}

[[nodiscard]] std::filesystem::path real_file() {
    char const* const given = std::getenv("CARILLON_DATA");
    std::filesystem::path const directory = given != nullptr ? given : CARILLON_DEFAULT_DATA;
    return directory / "esh4-glbx-mdp3-20231225.mbo.dbn";
}

TEST(ReplayTest, theDeviceReceivesEveryRecordOfAFile) {
    ReplayResult const result = run_replay(Device::open("emulated"), synthetic_file(500));
    EXPECT_EQ(result.records, 500U);
    EXPECT_EQ(result.device.records(), 500U);
    EXPECT_EQ(result.device.trade, 83U);
    EXPECT_EQ(result.device.contracts_traded, 20'750U);  // 4 + 10 + ... + 496
    EXPECT_EQ(result.device, result.host);
}

TEST(ReplayTest, everyCallIsTimed) {
    ReplayResult const result = run_replay(Device::open("emulated"), synthetic_file(500));
    EXPECT_EQ(result.latencies_ns.size(), 500U);
    EXPECT_EQ(std::ranges::count(result.latencies_ns, 0U), 0);
}

TEST(ReplayTest, progressRisesToOne) {
    std::vector<double> shares;
    (void)run_replay(Device::open("emulated"), synthetic_file(5000), {},
                     [&](double share) { shares.push_back(share); });
    EXPECT_EQ(shares, (std::vector{4096.0 / 5000, 1.0}));
}

TEST(ReplayTest, aDeadlineThatPassesIsATimeout) {
    ReplayOptions options;
    options.call_timeout = std::chrono::nanoseconds(0);
    Device const device = Device::open("emulated");
    dbn::MboFile const file = synthetic_file(500);
    EXPECT_THROW((void)run_replay(device, file, options), TimeoutError);
    EXPECT_EQ(run_replay(device, file).records, 500U) << "the device is not usable any more";
}

TEST(ReplayTest, theKernelEndsByItselfAfterItsLifetime) {
    ReplayOptions options;
    options.lifetime = std::chrono::nanoseconds(1);
    EXPECT_THROW((void)run_replay(Device::open("emulated"), synthetic_file(500), options),
                 StoppedError);
}

TEST(ReplayTest, theKernelLastsAsLongAsTheFile) { EXPECT_EQ(ReplayOptions().lifetime.count(), 0); }

// The counts are those that the feed's publishers test for (data/README.md); the checksum was
// computed by another program.
TEST(ReplayTest, aRealFeedHasItsKnownTally) {
    auto const path = real_file();
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not there; CARILLON_DATA names the directory it is in";
    }
    constexpr MboTally known{.add = 29'216,
                             .cancel = 17'999,
                             .modify = 12'233,
                             .trade = 2'973,
                             .fill = 6'371,
                             .clear = 0,
                             .contracts_traded = 9'892,
                             .checksum = 0xa239'4dd5'e309'd0ccU};
    ReplayResult const result = run_replay(Device::open("emulated"), dbn::MboFile::read(path));
    EXPECT_EQ(result.records, 68'792U);
    EXPECT_EQ(result.latencies_ns.size(), 68'792U);
    EXPECT_EQ(result.device, known);
    EXPECT_EQ(result.host, known);
}

}  // namespace
}  // namespace carillon::example

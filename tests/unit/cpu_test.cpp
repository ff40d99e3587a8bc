// SPDX-License-Identifier: Apache-2.0
// What this CPU can do, checked against what the kernel says of it.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/wait.hpp"
#include "support/accesses.hpp"

namespace carillon::test {
namespace {

std::set<std::string> kernel_flags() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with("flags")) continue;
        std::istringstream words(line.substr(line.find(':') + 1));
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

class StoreKindTest : public testing::Test {
   protected:
    std::set<std::string> flags_ = kernel_flags();
    void SetUp() override {
        if (flags_.empty()) GTEST_SKIP() << "/proc/cpuinfo names no flags";
    }
};

TEST_F(StoreKindTest, supportedAgreesWithTheKernel) {
    EXPECT_TRUE(supported(StoreKind::cached));
    EXPECT_TRUE(supported(StoreKind::sse2));
    EXPECT_EQ(supported(StoreKind::avx2), flags_.contains("avx2"));
    EXPECT_EQ(supported(StoreKind::avx512), flags_.contains("avx512f"));
    EXPECT_EQ(supported(StoreKind::movdir64b), flags_.contains("movdir64b"));
}

TEST_F(StoreKindTest, bestIsTheWidestThatIsSupported) {
    StoreKind const best = best_mapped_stores().kind;
    EXPECT_TRUE(supported(best));
    for (StoreKind kind : {StoreKind::avx2, StoreKind::avx512, StoreKind::movdir64b}) {
        if (!supported(kind)) continue;
        EXPECT_GE(best, kind);
    }
    EXPECT_NE(best, StoreKind::cached);
}

TEST_F(StoreKindTest, waitStylesAgreeWithTheKernelToo) {
    for (WaitStyle style : {WaitStyle::spin, WaitStyle::pause, WaitStyle::yield}) {
        EXPECT_TRUE(supported(style));
    }
    EXPECT_EQ(supported(WaitStyle::tpause), flags_.contains("waitpkg"));
    EXPECT_EQ(supported(WaitStyle::umwait), flags_.contains("waitpkg"));
}

// Catches one-step publishing with a store that may go out in pieces.
TEST_F(StoreKindTest, onlyMovdir64bIsTrustedToPublishInOneStep) {
    HostStores const best = best_mapped_stores();
    EXPECT_EQ(best.mode == PublishMode::one_step, best.kind == StoreKind::movdir64b);
}

TEST(StoreNamesTest, everyKindAndModeHasAName) {
    EXPECT_EQ(to_string(StoreKind::cached), "cached");
    EXPECT_EQ(to_string(StoreKind::sse2), "sse2");
    EXPECT_EQ(to_string(StoreKind::avx2), "avx2");
    EXPECT_EQ(to_string(StoreKind::avx512), "avx512");
    EXPECT_EQ(to_string(StoreKind::movdir64b), "movdir64b");
    EXPECT_EQ(to_string(PublishMode::one_step), "one-step");
    EXPECT_EQ(to_string(PublishMode::two_step), "two-step");
}

}  // namespace
}  // namespace carillon::test

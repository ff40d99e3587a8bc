// SPDX-License-Identifier: Apache-2.0
// The instructions of this CPU, compared with the kernel's list.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "carillon/copy.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/wait.hpp"
#include "support/accesses.hpp"

namespace carillon::test {
using namespace detail;
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
    for (StoreTraits const& each : store_table()) {
        bool const has = each.feature.empty() || flags_.contains(std::string(each.feature));
        EXPECT_EQ(supported(each.kind), has) << each.name;
    }
}

TEST_F(StoreKindTest, bestIsTheWidestThatIsSupported) {
    StoreKind const best = best_mapped_stores().kind;
    EXPECT_TRUE(supported(best));
    for (StoreTraits const& each : store_table()) {
        if (!supported(each.kind)) continue;
        EXPECT_GE(best, each.kind);
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

TEST(StoreTableTest, rowsAreInTheOrderOfKindsAndThatIsOfTheirWidth) {
    auto const table = store_table();
    for (std::size_t i = 0; i < table.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(table[i].kind), i);
        EXPECT_EQ(&traits_of(table[i].kind), &table[i]);
        EXPECT_EQ(to_string(table[i].kind), table[i].name);
        EXPECT_TRUE(std::has_single_bit(table[i].width)) << table[i].name;
        EXPECT_GE(table[i].width, sizeof(std::uint64_t)) << table[i].name;
        EXPECT_LE(table[i].width, sizeof(Line)) << table[i].name;
        std::size_t const before = i == 0 ? 0 : table[i - 1].width;
        EXPECT_GE(table[i].width, before) << table[i].name;
    }
}

TEST(StoreTableTest, namesAreUnlike) {
    std::set<std::string_view> names;
    for (StoreTraits const& each : store_table()) names.insert(each.name);
    EXPECT_EQ(names.size(), store_table().size());
    EXPECT_FALSE(names.contains(""));
}

// Catches a bulk store that leaves in pieces where nothing but one step is made.
TEST(StoreTableTest, bulkStoresAreSupportedAndThoseThatCopyFastest) {
    HostStores const best = best_mapped_stores();
    EXPECT_TRUE(supported(best_copy_stores()));
    EXPECT_TRUE(supported(best.bulk_kind()));
    EXPECT_EQ(best.bulk.value_or(best_copy_stores()), best_copy_stores());
    EXPECT_EQ(best.mode, traits_of(best.kind).mode);
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

// SPDX-License-Identifier: Apache-2.0
// How `carillon verify` reports its findings.
#include "verify/verify_report.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "carillon/error.hpp"

namespace carillon::tool {
namespace {

TEST(VerifyReportTest, findingsKeepTheFirstFiveOfTheirEvidence) {
    Findings sum;
    for (std::uint64_t line = 1; line <= 3; ++line) {
        Findings each;
        for (std::uint32_t word = 0; word < 2; ++word) {
            each.add({Fault::content, 0, line, word, 1, 2});
        }
        sum += each;
    }
    EXPECT_EQ(sum.violations, 6U);
    EXPECT_EQ(sum.evidence_count(), Findings::most_evidence);
    EXPECT_EQ(sum.evidence[4].line, 3U);
}

TEST(VerifyReportTest, aStoreLingersIfMostlyTheFenceHelps) {
    FenceReport report{"sse2", {100, 1000, 1}, {100, 1000, 11}};
    EXPECT_TRUE(report.lingered());
    report.without.late = 10;
    EXPECT_FALSE(report.lingered()) << "a tenth, and ten times as many";
    report.with.late = 2;
    report.without.late = 20;
    EXPECT_FALSE(report.lingered());
}

TEST(VerifyReportTest, theMappingIsToldFromItsTimes) {
    EXPECT_EQ((MappingReport{3, 40, 40, false}.conclusion()), Mapping::cached);
    EXPECT_EQ((MappingReport{900, 150, 600, false}.conclusion()), Mapping::write_combining);
    EXPECT_EQ((MappingReport{900, 600, 600, true}.conclusion()), Mapping::write_combining);
    EXPECT_EQ((MappingReport{900, 600, 600, false}.conclusion()), Mapping::uncached);
}

[[nodiscard]] VerifyResult broken_result() {
    VerifyResult result;
    TestReport broken{"lines_to_host", "to_host", "content", {}, {}, {}};
    broken.findings.checks = 10;
    broken.findings.add({Fault::content, 2, 17, 3, 0xabc, 0xdef});
    result.tests = {broken};
    return result;
}

[[nodiscard]] std::string verify_table(VerifyResult const& result) {
    std::string text;
    for (TestReport const& each : result.tests) text += verify_rows(each);
    return text + verify_rest(result) + verify_verdict(result);
}

TEST(VerifyReportTest, theVerdictCountsControlsThatWereNotShown) {
    VerifyResult result;
    result.tests = {{"two_lines_in_order", "to_device", "", {}, {{"the release", 9, 0, false}}, {}},
                    {"slot_reuse", "to_device", "", {}, {{"the credit", 9, 1, true}}, {}}};
    std::string const verdict = verify_verdict(result);
    EXPECT_NE(
        verdict.find("no violations in 2 tests; 1 of 2 controls showed their fault, 1 did NOT"),
        std::string::npos)
        << verdict;
    EXPECT_EQ(to_json(result)["controls"], 2);
    EXPECT_EQ(to_json(result)["controls_shown"], 1);
}

TEST(VerifyReportTest, aViolationIsInTheTableWithItsEvidence) {
    std::string const table = verify_table(broken_result());
    EXPECT_NE(table.find("VIOLATION content (to_host), ring 2, line 17, word 3: expected "
                         "0x0000000000000abc, seen 0x0000000000000def"),
              std::string::npos)
        << table;
    EXPECT_NE(table.find("\nverdict: 1 violation in 1 test; "), std::string::npos) << table;
}

TEST(VerifyReportTest, aViolationIsInTheJsonAndAnError) {
    nlohmann::json const json = to_json(broken_result());
    EXPECT_EQ(json["violations"], 1);
    EXPECT_EQ(json["lines_to_host"], 10);
    EXPECT_EQ(json["tests"][0]["evidence"][0]["line"], 17);
    EXPECT_TRUE(json["tests"][0]["controls"].empty());
    EXPECT_THROW(require_no_violation(broken_result()), Error);
    EXPECT_NO_THROW(require_no_violation(VerifyResult{}));
}

TEST(VerifyReportTest, linesOfMpmcRingsAreCountedAndTheirMessagesNamed) {
    VerifyResult result;
    TestReport shared{"lines_mpmc_to_device", "to_device", "once", {}, {}, {}};
    shared.findings.checks = 20;
    shared.findings.add({Fault::twice, 3, 4711, 0, 4703, 4711});
    result.tests = {shared};
    EXPECT_EQ(to_json(result)["lines_mpmc_to_device"], 20);
    EXPECT_EQ(to_json(result)["tests"][0]["evidence"][0]["fault"], "twice");
    EXPECT_EQ(to_json(broken_result())["lines_mpmc_to_device"], 0);
    EXPECT_NE(verify_table(result).find("VIOLATION twice (to_device), ring 3, line 4711"),
              std::string::npos);
}

// Host memory, a GPU's or the emulated device's, need only be cached.
TEST(VerifyReportTest, mappingThatIsUncachedIsWarnedOf) {
    VerifyResult result;
    for (auto const& [mapping, warned] : {std::pair(MappingReport{900, 600, 600, false}, true),
                                          std::pair(MappingReport{900, 150, 600, false}, false),
                                          std::pair(MappingReport{3, 40, 40, false}, false)}) {
        result.mapping = mapping;
        result.fences = {{"sse2", {}, {}}};
        EXPECT_EQ(verify_table(result).find("WARNING") != std::string::npos, warned)
            << to_string(mapping.conclusion());
    }
}

}  // namespace
}  // namespace carillon::tool

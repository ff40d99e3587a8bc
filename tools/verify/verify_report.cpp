// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_report.hpp"

#include <fmt/format.h>

#include <array>
#include <carillon/error.hpp>
#include <string_view>

namespace carillon::tool {
namespace {

using nlohmann::json;

std::string_view to_string(Fault fault) {
    static constexpr std::array<std::string_view, 7> names{
        "content", "overwritten", "missing", "torn", "order", "stale data", "twice"};
    return names.at(static_cast<std::size_t>(fault));
}

json to_json(Control const& control) {
    return {{"what", control.what},
            {"checks", control.checks},
            {"failures", control.failures},
            {"shown", control.shown}};
}

json to_json(TestReport const& test) {
    json evidence = json::array();
    for (std::uint32_t i = 0; i < test.findings.evidence_count(); ++i) {
        Evidence const& each = test.findings.evidence[i];
        evidence.push_back({{"fault", to_string(each.fault)},
                            {"ring", each.ring},
                            {"line", each.line},
                            {"word", each.word},
                            {"expected", fmt::format("{:#018x}", each.expected)},
                            {"seen", fmt::format("{:#018x}", each.seen)}});
    }
    json controls = json::array();
    for (Control const& each : test.controls) controls.push_back(to_json(each));
    json value{{"name", test.name},
               {"direction", test.direction},
               {"what", test.what},
               {"checks", test.findings.checks},
               {"violations", test.findings.violations},
               {"evidence", evidence},
               {"controls", controls}};
    for (auto const& [name, figure] : test.figures) value[name] = figure;
    return value;
}

json to_json(FenceReport::Trials const& trials) {
    return {{"trials", trials.count}, {"p50_ns", trials.p50_ns}, {"late", trials.late}};
}

json to_json(FenceReport const& report) {
    return {{"form", report.form},
            {"late_after_ns", FenceReport::late_ns},
            {"with_fence", to_json(report.with)},
            {"without_fence", to_json(report.without)},
            {"lingered", report.lingered()}};
}

json to_json(MappingReport const& report) {
    return {{"conclusion", to_string(report.conclusion())},
            {"load_ns", report.load_ns},
            {"one_line_ns", report.one_line_ns},
            {"eight_lines_ns", report.eight_lines_ns},
            {"flag_without_fence_lingered", report.lingered}};
}

template <class Reports>
json all_to_json(Reports const& reports) {
    json all = json::array();
    for (auto const& each : reports) all.push_back(to_json(each));
    return all;
}

std::string control_text(Control const& control) {
    return fmt::format("without {}: {} of {} failed{}", control.what, control.failures,
                       control.checks, control.shown ? "" : " (NOT SHOWN here)");
}

std::string fence_rows(std::vector<FenceReport> const& fences) {
    std::string text = fmt::format("\n{:<14}{:>24}{:>28}\n{:<14}{:>8}{:>9}{:>7}{:>12}{:>9}{:>7}\n",
                                   "publishing", "with its store fence", "without", "", "trials",
                                   "p50 ns", "late", "trials", "p50 ns", "late");
    for (FenceReport const& each : fences) {
        text += fmt::format("{:<14}{:>8}{:>9.0f}{:>7}{:>12}{:>9.0f}{:>7}\n", each.form,
                            each.with.count, each.with.p50_ns, each.with.late, each.without.count,
                            each.without.p50_ns, each.without.late);
    }
    return text;
}

std::string mapping_rows(MappingReport const& mapping) {
    std::string text = fmt::format(
        "\nmapping of the rings' memory: {} (load {:.0f} ns; eight stores and a fence: to one line "
        "{:.0f} ns, to eight {:.0f} ns)\n",
        to_string(mapping.conclusion()), mapping.load_ns, mapping.one_line_ns,
        mapping.eight_lines_ns);
    if (mapping.conclusion() == Mapping::uncached) {
        text +=
            "WARNING: the mapping is uncached: the CPU's stores cross the bus one by one. This "
            "costs "
            "speed, not order.\n";
    }
    return text;
}

}  // namespace

json to_json(VerifyResult const& result) {
    return {{"seconds", result.seconds},
            {"threads", result.threads},
            {"lines_to_device", result.checks_of("lines_to_device")},
            {"lines_to_host", result.checks_of("lines_to_host")},
            {"lines_mpmc_to_device", result.checks_of("lines_mpmc_to_device")},
            {"violations", result.violations()},
            {"controls", result.controls()},
            {"controls_shown", result.controls_shown()},
            {"tests", all_to_json(result.tests)},
            {"write_combining", to_json(result.mapping)},
            {"missing_store_fence", all_to_json(result.fences)}};
}

std::string verify_title() {
    return fmt::format("{:<22}{:>13}{:>12}  what it checks, and its negative control\n", "test",
                       "checks", "violations");
}

std::string verify_rows(TestReport const& test) {
    std::string text = fmt::format("{:<22}{:>13}{:>12}  {}\n", test.name, test.findings.checks,
                                   test.findings.violations, test.what);
    std::string const indent(49, ' ');
    for (Control const& each : test.controls) text += indent + control_text(each) + '\n';
    for (auto const& [name, figure] : test.figures) {
        text += fmt::format("{}{}: {}\n", indent, name, figure);
    }
    for (std::uint32_t i = 0; i < test.findings.evidence_count(); ++i) {
        Evidence const& each = test.findings.evidence[i];
        text += fmt::format(
            "  VIOLATION {} ({}), ring {}, line {}, word {}: expected {:#018x}, seen {:#018x}\n",
            to_string(each.fault), test.direction, each.ring, each.line, each.word, each.expected,
            each.seen);
    }
    return text;
}

std::string verify_rest(VerifyResult const& result) {
    if (result.fences.empty()) return "";  // an interrupt came before
    return fence_rows(result.fences) + mapping_rows(result.mapping);
}

std::string verify_verdict(VerifyResult const& result) {
    std::uint64_t const violations = result.violations();
    std::size_t const hidden = result.controls() - result.controls_shown();
    std::string text = fmt::format("\nverdict: {} violation{} in {} test{}",
                                   violations == 0 ? "no" : fmt::format("{}", violations),
                                   violations == 1 ? "" : "s", result.tests.size(),
                                   result.tests.size() == 1 ? "" : "s");
    text += fmt::format("; {} of {} controls showed their fault", result.controls_shown(),
                        result.controls());
    if (hidden != 0) {
        text += fmt::format(
            ", {} did NOT: those parts of the discipline were not needed here, or "
            "not seen to be",
            hidden);
    }
    return text + '\n';
}

void require_no_violation(VerifyResult const& result) {
    std::uint64_t const violations = result.violations();
    if (violations != 0) {
        throw Error("verify", fmt::format("{} violations of the discipline", violations));
    }
}

}  // namespace carillon::tool

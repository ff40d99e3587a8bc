// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <carillon/error.hpp>

#include "doctor/doctor.hpp"

namespace carillon::tool {
namespace {

constexpr std::array worst_first{Severity::error, Severity::warning, Severity::note, Severity::ok};

std::string counted(Severity severity, std::size_t count) {
    if (severity == Severity::ok) return fmt::format("{} ok", count);
    return fmt::format("{} {}{}", count, to_string(severity), count == 1 ? "" : "s");
}

std::string text_of(Finding const& finding) {
    std::string text = fmt::format("  {:<22}{}\n", finding.id, finding.found);
    if (finding.severity == Severity::ok) return text;
    text += fmt::format("    why: {}\n", finding.why);
    if (!finding.fix.empty()) text += fmt::format("    fix: {}\n", finding.fix);
    return text;
}

}  // namespace

std::string_view to_string(Severity severity) {
    static constexpr std::array<std::string_view, 4> names{"ok", "note", "warning", "error"};
    return names.at(static_cast<std::size_t>(severity));
}

nlohmann::json to_json(DoctorReport const& report) {
    nlohmann::json findings = nlohmann::json::array();
    for (Finding const& each : report.findings) {
        findings.push_back({{"id", each.id},
                            {"severity", to_string(each.severity)},
                            {"found", each.found},
                            {"why", each.why},
                            {"fix", each.fix}});
    }
    return {{"selector", report.selector},
            {"errors", report.count(Severity::error)},
            {"warnings", report.count(Severity::warning)},
            {"notes", report.count(Severity::note)},
            {"findings", findings}};
}

std::string doctor_text(DoctorReport const& report) {
    std::string text = fmt::format("{} checks of {}\n", report.findings.size(), report.device.name);
    for (Severity const severity : worst_first) {
        std::size_t const count = report.count(severity);
        if (count == 0) continue;
        text += counted(severity, count) + '\n';
        for (Finding const& each : report.findings) {
            if (each.severity == severity) text += text_of(each);
        }
    }
    bool const works = report.count(Severity::error) == 0;
    return text + fmt::format("verdict: persistent kernels {}; {}, {}\n",
                              works ? "work" : "do NOT work",
                              counted(Severity::warning, report.count(Severity::warning)),
                              counted(Severity::note, report.count(Severity::note)));
}

void require_no_error(DoctorReport const& report) {
    std::vector<std::string> ids;
    for (Finding const& each : report.findings) {
        if (each.severity == Severity::error) ids.push_back(each.id);
    }
    if (ids.empty()) return;
    throw Error("doctor", fmt::format("{} does not work on this machine: {}", report.selector,
                                      fmt::join(ids, ", ")));
}

}  // namespace carillon::tool

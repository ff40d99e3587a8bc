// SPDX-License-Identifier: Apache-2.0
// `carillon doctor`: whether this machine can run a persistent kernel, and how to fix it if not.
#pragma once

#include <carillon/device_info.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"

namespace carillon::tool {

enum class Severity : std::uint8_t {
    ok,
    note,     // worth knowing, or slower than it could be
    warning,  // will hurt, now or under load
    error,    // the main job fails on the device that was asked for
};

[[nodiscard]] std::string_view to_string(Severity severity);

struct Finding {
    std::string id;  // "vulkan.icd"
    Severity severity = Severity::ok;
    std::string found;
    std::string why;  // it matters
    std::string fix;  // a command or a setting; empty if there is nothing to do
};

struct DoctorReport {
    std::string selector;
    DeviceInfo device;  // one that could not be opened has but a name, which says so
    std::vector<Finding> findings;

    [[nodiscard]] std::size_t count(Severity severity) const;
};

// Looks at the machine, opens the device and, if that is safe, calls a kernel there. Throws
// UsageError for a selector that makes no sense; all other faults are findings.
[[nodiscard]] DoctorReport run_doctor(std::string const& selector);

// "findings" and their number by severity.
[[nodiscard]] nlohmann::json to_json(DoctorReport const& report);
// For people: the worst first.
[[nodiscard]] std::string doctor_text(DoctorReport const& report);
// Throws Error, which names the errors, if there are any.
void require_no_error(DoctorReport const& report);

[[nodiscard]] std::unique_ptr<Command> make_doctor_command();

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.hpp"

namespace carillon::tool {

Severity lacking(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    bool const opened = facts.open.error.empty();
    bool const works_without =
        opened && (!info.why_host_memory.empty() || (facts.selector == "best" && info.emulated));
    return works_without ? Severity::warning : Severity::error;
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.hpp"

#include <algorithm>
#include <carillon/detail/host/thread.hpp>

#include "doctor/checks.hpp"

namespace carillon::tool {

std::size_t DoctorReport::count(Severity severity) const {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

DoctorReport run_doctor(std::string const& selector) {
    // The Vulkan loader needs more stack than `ulimit -s` may have left to this thread.
    Facts const facts =
        detail::on_own_thread("carillon-open", [&] { return read_facts(selector); });
    return {selector, facts.open.info, diagnose(facts)};
}

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

// When a check has something to look at.
bool always(Facts const& /*facts*/) { return true; }
bool opened(Facts const& facts) { return facts.open.error.empty(); }
bool gpu_opened(Facts const& facts) { return opened(facts) && !facts.open.info.emulated; }
bool memory_from_vulkan(Facts const& facts) {
    return opened(facts) && facts.open.info.memory_source == MemorySource::vulkan;
}
bool gpu_mapped(Facts const& facts) {
    return gpu_opened(facts) && facts.open.info.memory_source != MemorySource::host;
}
bool mapping_tried(Facts const& facts) { return gpu_mapped(facts) && facts.mapping; }
bool wants_gpu(Facts const& facts) { return facts.wants_gpu(); }
bool has_gpu(Facts const& facts) { return facts.gpu() != nullptr; }
bool wants_vulkan(Facts const& facts) { return facts.wants_gpu() || facts.wants_lavapipe(); }
bool has_icd(Facts const& facts) {
    return wants_vulkan(facts) && check_icds(facts).severity == Severity::ok;
}
bool has_vulkan_device(Facts const& facts) {
    if (!wants_vulkan(facts)) return false;
    return !wants_gpu(facts) || (has_gpu(facts) && !facts.gpu()->uuid.empty());
}

struct Check {
    bool (*when)(Facts const& facts);
    Finding (*check)(Facts const& facts);
};

constexpr Check checks[] = {
#define CHECK(when, check) {when, check},
#include "doctor/checks.def"
#undef CHECK
};

}  // namespace

std::vector<Finding> diagnose(Facts const& facts) {
    std::vector<Finding> findings;
    for (auto const& [when, check] : checks) {
        if (when(facts)) findings.push_back(check(facts));
    }
    return findings;
}

Severity lacking(Facts const& facts) {
    DeviceInfo const& info = facts.open.info;
    bool const works_without = opened(facts) && (!info.why_host_memory.empty() ||
                                                 (facts.selector == "best" && info.emulated));
    return works_without ? Severity::warning : Severity::error;
}

}  // namespace carillon::tool

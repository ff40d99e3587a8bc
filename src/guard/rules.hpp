// SPDX-License-Identifier: Apache-2.0
// The CUDA calls that block behind a kernel.
#pragma once

#include <cstdint>
#include <string_view>

namespace carillon::detail {

// When a call blocks while a kernel lives.
enum class GuardWhen : std::uint8_t {
    always,
    given,     // unless its first argument is null
    unloaded,  // if the kernel that it launches or loads is not loaded yet
};

struct GuardRule {
    std::string_view call;  // the driver's name, without its version
    GuardWhen when;
    // The context that it concerns: the one that its first argument names, or the current one.
    bool names_context;
    bool of_device;  // its context is unknown: it names a device
    std::string_view why;
};

// "cuMemFree_v2_ptds" is "cuMemFree".
[[nodiscard]] std::string_view without_version(std::string_view call) noexcept;
// nullptr for a call that does not block.
[[nodiscard]] GuardRule const* guard_rule(std::string_view call) noexcept;

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include "guard/rules.hpp"

#include <array>

namespace carillon::detail {
namespace {

constexpr std::string_view why_frees = "it frees only after every kernel of the context has ended";
constexpr std::string_view why_waits = "it waits for everything that runs in the context";
constexpr std::string_view why_ends = "it ends the context, after everything that runs there";
constexpr std::string_view why_loads =
    "device code is loaded or unloaded only while no kernel of the context runs";
constexpr std::string_view why_first_launch =
    "its kernel is not loaded yet (lazy loading), as far as the guard has seen, and is loaded only "
    "while no other kernel of the context runs";

constexpr GuardRule of_current(std::string_view call, GuardWhen when, std::string_view why) {
    return {call, when, false, false, why};
}

constexpr std::array guard_rules{
    of_current("cuMemFree", GuardWhen::given, why_frees),
    of_current("cuMemFreeHost", GuardWhen::given, why_frees),
    of_current("cuMemHostUnregister", GuardWhen::given, why_frees),
    of_current("cuIpcCloseMemHandle", GuardWhen::given, why_frees),
    of_current("cuArrayDestroy", GuardWhen::given, why_frees),
    of_current("cuMipmappedArrayDestroy", GuardWhen::given, why_frees),
    of_current("cuDestroyExternalMemory", GuardWhen::given, why_frees),
    GuardRule{"cuCtxSynchronize", GuardWhen::always, true, false, why_waits},
    GuardRule{"cuCtxDestroy", GuardWhen::given, true, false, why_ends},
    GuardRule{"cuCtxDetach", GuardWhen::given, true, false, why_ends},
    GuardRule{"cuDevicePrimaryCtxReset", GuardWhen::always, false, true, why_ends},
    of_current("cuCtxSetLimit", GuardWhen::always, why_waits),
    of_current("cuModuleLoad", GuardWhen::always, why_loads),
    of_current("cuModuleLoadData", GuardWhen::always, why_loads),
    of_current("cuModuleLoadDataEx", GuardWhen::always, why_loads),
    of_current("cuModuleLoadFatBinary", GuardWhen::always, why_loads),
    of_current("cuModuleUnload", GuardWhen::given, why_loads),
    of_current("cuLibraryLoadData", GuardWhen::always, why_loads),
    of_current("cuLibraryLoadFromFile", GuardWhen::always, why_loads),
    of_current("cuLibraryUnload", GuardWhen::given, why_loads),
    of_current("cuFuncLoad", GuardWhen::unloaded, why_first_launch),
    of_current("cuLaunchKernel", GuardWhen::unloaded, why_first_launch),
    of_current("cuLaunchKernelEx", GuardWhen::unloaded, why_first_launch),
    of_current("cuLaunchCooperativeKernel", GuardWhen::unloaded, why_first_launch),
};

}  // namespace

std::string_view without_version(std::string_view call) noexcept {
    // The runtime's names have _ptsz before the version, the driver's behind it.
    for (;;) {
        std::string_view const name = call.substr(0, call.find_last_not_of("0123456789") + 1);
        if (name.ends_with("_v") && name.size() < call.size()) {
            call = name.substr(0, name.size() - 2);
        } else if (call.ends_with("_ptsz") || call.ends_with("_ptds")) {
            call.remove_suffix(5);
        } else {
            return call;
        }
    }
}

GuardRule const* guard_rule(std::string_view call) noexcept {
    std::string_view const name = without_version(call);
    for (GuardRule const& rule : guard_rules) {
        if (rule.call == name) return &rule;
    }
    return nullptr;
}

}  // namespace carillon::detail

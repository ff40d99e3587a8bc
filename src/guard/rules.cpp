// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/core/demangle.hpp>
#include <cstdint>
#include <string_view>

#include "guard/guard_reporter.hpp"

namespace carillon::detail {
namespace {

std::string describe_frame(void* address) {
    // A return address may be the first of the next function.
    auto const call = reinterpret_cast<std::uintptr_t>(address) - 1;
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) {
        return fmt::format("{:#x}", call);
    }
    std::string_view const path = info.dli_fname;
    auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::string where = fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), call - base);
    if (info.dli_sname == nullptr) return where;
    return fmt::format("{} ({})", boost::core::demangle(info.dli_sname), where);
}

// The object's name is the text's beginning, or what is in its last bracket.
bool is_of_cuda(std::string const& frame) {
    std::string_view const object = std::string_view(frame).substr(frame.rfind('(') + 1);
    return object.starts_with("libcupti.") || object.starts_with("libcuda.") ||
           object.starts_with("libcudart.");
}

constexpr std::string_view why_frees =
    "it frees memory only after every kernel of the context has ended";
constexpr std::string_view why_waits = "it waits for all work in the context";
constexpr std::string_view why_ends = "it ends the context, after all work there";
constexpr std::string_view why_loads =
    "CUDA loads and unloads device code only while no kernel of the context runs";
constexpr std::string_view why_first_launch =
    "the guard has not seen its kernel loaded yet (lazy loading), and CUDA loads it only while no "
    "other kernel of the context runs";

constexpr std::array guard_rules{
    GuardRule{"cuMemFree", GuardWhen::given, why_frees},
    GuardRule{"cuMemFreeHost", GuardWhen::given, why_frees},
    GuardRule{"cuMemHostUnregister", GuardWhen::given, why_frees},
    GuardRule{"cuIpcCloseMemHandle", GuardWhen::given, why_frees},
    GuardRule{"cuArrayDestroy", GuardWhen::given, why_frees},
    GuardRule{"cuMipmappedArrayDestroy", GuardWhen::given, why_frees},
    GuardRule{"cuDestroyExternalMemory", GuardWhen::given, why_frees},
    GuardRule{"cuCtxSynchronize", GuardWhen::always, why_waits, true},
    GuardRule{"cuCtxDestroy", GuardWhen::given, why_ends, true},
    GuardRule{"cuCtxDetach", GuardWhen::given, why_ends, true},
    GuardRule{"cuDevicePrimaryCtxReset", GuardWhen::always, why_ends, false, true},
    GuardRule{"cuCtxSetLimit", GuardWhen::always, why_waits},
    GuardRule{"cuModuleLoad", GuardWhen::always, why_loads},
    GuardRule{"cuModuleLoadData", GuardWhen::always, why_loads},
    GuardRule{"cuModuleLoadDataEx", GuardWhen::always, why_loads},
    GuardRule{"cuModuleLoadFatBinary", GuardWhen::always, why_loads},
    GuardRule{"cuModuleUnload", GuardWhen::given, why_loads},
    GuardRule{"cuLibraryLoadData", GuardWhen::always, why_loads},
    GuardRule{"cuLibraryLoadFromFile", GuardWhen::always, why_loads},
    GuardRule{"cuLibraryUnload", GuardWhen::given, why_loads},
    GuardRule{"cuFuncLoad", GuardWhen::unloaded, why_first_launch},
    GuardRule{"cuLaunchKernel", GuardWhen::unloaded, why_first_launch},
    GuardRule{"cuLaunchKernelEx", GuardWhen::unloaded, why_first_launch},
    GuardRule{"cuLaunchCooperativeKernel", GuardWhen::unloaded, why_first_launch},
};

}  // namespace

[[gnu::noinline]] std::vector<std::string> stack_of_caller() {
    std::array<void*, 64> addresses{};
    int const depth = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
    std::vector<std::string> stack;
    for (int i = 1; i < depth; ++i) {  // 0 is this function
        stack.push_back(describe_frame(addresses.at(static_cast<std::size_t>(i))));
    }
    // Skips the innermost frames, ours and CUDA's, up to the program's call. If CUDA cannot be
    // unwound, all frames stay.
    auto const first = std::find_if_not(std::find_if(stack.begin(), stack.end(), is_of_cuda),
                                        stack.end(), is_of_cuda);
    if (first != stack.end()) stack.erase(stack.begin(), first);
    return stack;
}

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

LiveKernels& live_kernels() noexcept {
    static constinit LiveKernels kernels;
    return kernels;
}

void LiveKernels::started(void* context) noexcept {
    ++count_;
    for (std::atomic<void*>& each : contexts_) {
        void* none = nullptr;
        if (each.compare_exchange_strong(none, context)) return;
    }
    ++others_;
}

void LiveKernels::ended(void* context) noexcept {
    --count_;
    for (std::atomic<void*>& each : contexts_) {
        void* expected = context;
        if (each.compare_exchange_strong(expected, nullptr)) return;
    }
    --others_;
}

bool LiveKernels::in(void const* context) const noexcept {
    if (!any()) return false;
    if (context == nullptr || others_.load() != 0) return true;
    for (std::atomic<void*> const& each : contexts_) {
        if (each.load() == context) return true;
    }
    return false;
}

}  // namespace carillon::detail

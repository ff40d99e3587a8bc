// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <array>
#include <boost/core/demangle.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "guard/guard_reporter.hpp"

namespace carillon::detail {
namespace {

struct StackFrame {
    std::string object;  // the file's name
    std::string text;
};

StackFrame describe_frame(void* address) {
    // A return address may be the first of the next function.
    auto const call = reinterpret_cast<std::uintptr_t>(address) - 1;
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) {
        return {{}, fmt::format("{:#x}", call)};
    }
    std::string_view const path = info.dli_fname;
    std::string object(path.substr(path.rfind('/') + 1));  // the whole path if there is no /
    auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::string text = fmt::format("{}+{:#x}", object, call - base);
    if (info.dli_sname != nullptr) {
        text = fmt::format("{} ({})", boost::core::demangle(info.dli_sname), text);
    }
    return {std::move(object), std::move(text)};
}

bool is_of_cuda(StackFrame const& frame) {
    for (std::string_view const library : {"libcupti.", "libcuda.", "libcudart."}) {
        if (frame.object.starts_with(library)) return true;
    }
    return false;
}

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

[[gnu::noinline]] std::vector<std::string> stack_of_caller() {
    std::array<void*, 64> addresses{};
    int const depth = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
    std::vector<StackFrame> frames;
    for (int i = 1; i < depth; ++i) {  // 0 is this function
        frames.push_back(describe_frame(addresses.at(static_cast<std::size_t>(i))));
    }
    // Skips the innermost frames, ours and CUDA's, up to the program's call. If CUDA cannot be
    // unwound, all frames stay.
    auto first = frames.begin();
    while (first != frames.end() && !is_of_cuda(*first)) ++first;
    while (first != frames.end() && is_of_cuda(*first)) ++first;
    if (first == frames.end()) first = frames.begin();
    std::vector<std::string> stack;
    for (; first != frames.end(); ++first) stack.push_back(std::move(first->text));
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

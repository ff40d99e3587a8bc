// SPDX-License-Identifier: Apache-2.0
// What Guard is made of, apart from how calls are seen: cuda/cupti_watch.cpp does that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/guard.hpp"

namespace carillon::detail {

// The CUDA contexts in which kernels live, one entry for each kernel. It takes no lock, since it is
// asked within CUDA calls.
class LiveKernels {
   public:
    void started(void* context) noexcept;
    void ended(void* context) noexcept;
    [[nodiscard]] bool any() const noexcept { return count_.load() != 0; }
    // A context of nullptr is one that is not known, and may be any.
    [[nodiscard]] bool in(void const* context) const noexcept;

   private:
    std::array<std::atomic<void*>, 64> contexts_{};
    std::atomic<unsigned> others_{0};  // for which there was no room: they may be in any
    std::atomic<unsigned> count_{0};
};

// Those of this process.
[[nodiscard]] LiveKernels& live_kernels() noexcept;

// When a call blocks while a kernel lives.
enum class GuardWhen : std::uint8_t {
    always,
    given,     // unless its first argument is null
    unloaded,  // if the kernel that it launches or loads is not loaded yet
};

struct GuardRule {
    std::string_view call;  // the driver's, without its version
    GuardWhen when;
    // Which context it concerns: the one that its first argument names, or the current one.
    bool names_context;
    bool of_device;  // its context is not known: it names a device
    std::string_view why;
};

// "cuMemFree_v2_ptds" is "cuMemFree".
[[nodiscard]] std::string_view without_version(std::string_view call) noexcept;
// nullptr for a call that does not block.
[[nodiscard]] GuardRule const* guard_rule(std::string_view call) noexcept;

// A call of the driver that is about to be made.
struct WatchedCall {
    char const* name = nullptr;
    char const* runtime = nullptr;  // the runtime's call that it serves, if it does
    void* context = nullptr;        // that it concerns; nullptr: not known
    char const* kernel = nullptr;   // what it launches, mangled
    bool null_argument = false;     // its first argument
    bool loaded = true;             // the kernel is loaded, or that is not known
};

// Decides whether a call is reported, and reports it.
class GuardReporter {
   public:
    GuardReporter(LiveKernels const& kernels, Guard::Handler handler)
        : kernels_(kernels), handler_(std::move(handler)) {}

    void saw(WatchedCall const& call) noexcept;
    [[nodiscard]] std::uint64_t reports() const { return reports_.load(); }

   private:
    LiveKernels const& kernels_;
    Guard::Handler handler_;
    std::atomic<std::uint64_t> reports_{0};
};

// Calls of this thread, innermost first, from the caller of CUDA where CUDA is on the way.
[[nodiscard]] std::vector<std::string> stack_of_caller();
[[nodiscard]] std::string demangled(char const* name);
// What goes to stderr.
[[nodiscard]] std::string guard_text(GuardReport const& report);

// Sees calls until it is destroyed; some may still be under way then.
class CallWatch {
   public:
    CallWatch() = default;
    virtual ~CallWatch() = default;
    CallWatch(CallWatch const&) = delete;
    CallWatch& operator=(CallWatch const&) = delete;
};
// `seen` gets the calls that have a rule, while a kernel lives. Throws as Guard does.
[[nodiscard]] std::unique_ptr<CallWatch> watch_cuda_calls(void (*seen)(WatchedCall const&));

enum class GuardAction : std::uint8_t { none, report, abort };
// Of a value of CARILLON_GUARD, or nullptr. Throws UsageError.
[[nodiscard]] GuardAction guard_action(char const* value);
// Does what CARILLON_GUARD says, once; what keeps a guard from being started goes to stderr. Throws
// UsageError for another value.
void start_guard_from_environment();

}  // namespace carillon::detail

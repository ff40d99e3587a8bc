// SPDX-License-Identifier: Apache-2.0
// What Guard is made of, apart from how calls are seen: cuda/cupti_watch.cpp does that.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "carillon/guard.hpp"
#include "guard/live_kernels.hpp"

namespace carillon::detail {

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

// SPDX-License-Identifier: Apache-2.0
// The parts of Guard, except how calls are seen: cuda/cupti_watch.cpp does that.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "carillon/guard.hpp"
#include "guard/live_kernels.hpp"

namespace carillon::detail {

// A call of the driver, before it is made.
struct WatchedCall {
    char const* name = nullptr;
    char const* runtime = nullptr;  // the runtime's call that made it, if there is one
    void* context = nullptr;        // the context that it concerns; nullptr: unknown
    char const* kernel = nullptr;   // the launched kernel's mangled name
    bool null_argument = false;     // whether its first argument is null
    bool loaded = true;             // whether the kernel is loaded, or that is unknown
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

// The text for stderr.
[[nodiscard]] std::string guard_text(GuardReport const& report);

// Sees calls until it is destroyed; some may still be in progress then.
class CallWatch {
   public:
    CallWatch() = default;
    virtual ~CallWatch() = default;
    CallWatch(CallWatch const&) = delete;
    CallWatch& operator=(CallWatch const&) = delete;
};
// `seen` gets the calls that have a rule, while a kernel lives. Throws what Guard throws.
[[nodiscard]] std::unique_ptr<CallWatch> watch_cuda_calls(void (*seen)(WatchedCall const&));

enum class GuardAction : std::uint8_t { none, report, abort };
// Parses a value of CARILLON_GUARD, or nullptr. Throws UsageError.
[[nodiscard]] GuardAction guard_action(char const* value);
// Starts the guard that CARILLON_GUARD asks for, once; reasons why it cannot start go to stderr.
// Throws UsageError for another value.
void start_guard_from_environment();

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The parts of Guard, except how calls are seen: cuda/cupti_watch.cpp does that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
    // A context of nullptr is unknown, and may be any.
    [[nodiscard]] bool in(void const* context) const noexcept;

   private:
    std::array<std::atomic<void*>, 64> contexts_{};
    std::atomic<unsigned> others_{0};  // kernels without an entry: they may be in any context
    std::atomic<unsigned> count_{0};
};

// The live kernels of this process.
[[nodiscard]] LiveKernels& live_kernels() noexcept;

// When a call blocks while a kernel lives.
enum class GuardWhen : std::uint8_t {
    always,
    given,     // unless its first argument is null
    unloaded,  // if the kernel that it launches or loads is not loaded yet
};

struct GuardRule {
    std::string_view call;  // the driver's name, without its version
    GuardWhen when;
    std::string_view why;
    // The context that it concerns: the one that its first argument names, or the current one.
    bool names_context = false;
    bool of_device = false;  // its context is unknown: it names a device
};

// "cuMemFree_v2_ptds" is "cuMemFree".
[[nodiscard]] std::string_view without_version(std::string_view call) noexcept;
// nullptr for a call that does not block.
[[nodiscard]] GuardRule const* guard_rule(std::string_view call) noexcept;

// Calls of this thread, innermost first, from the caller of CUDA if CUDA is among them.
[[nodiscard]] std::vector<std::string> stack_of_caller();

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

// `seen` gets the calls that have a rule, while a kernel lives and the result is kept; some may
// still be in progress when that goes. Throws what Guard throws.
[[nodiscard]] std::shared_ptr<void> watch_cuda_calls(void (*seen)(WatchedCall const&));

enum class GuardAction : std::uint8_t { none, report, abort };
// Parses a value of CARILLON_GUARD, or nullptr. Throws UsageError.
[[nodiscard]] GuardAction guard_action(char const* value);
// Starts the guard that CARILLON_GUARD asks for, once; reasons why it cannot start go to stderr.
// Throws UsageError for another value.
void start_guard_from_environment();

}  // namespace carillon::detail

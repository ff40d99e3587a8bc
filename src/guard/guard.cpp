// SPDX-License-Identifier: Apache-2.0
#include "guard/guard_reporter.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <boost/core/demangle.hpp>
#include <cstdlib>
#include <mutex>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"
#include "os/exit_hook.hpp"

namespace carillon::detail {
namespace {

constexpr char const* guard_variable = "CARILLON_GUARD";
constexpr std::chrono::seconds longest_before_abort{1};

std::atomic<bool> guard_exists{false};
std::atomic<GuardReporter*> guard_reporter{nullptr};
std::atomic<unsigned> guard_calls{0};  // calls in progress in guard_saw
thread_local bool guard_inside = false;

void guard_saw(WatchedCall const& call) {
    if (guard_inside) return;  // the handler's own call
    guard_inside = true;
    ++guard_calls;
    if (GuardReporter* const reporter = guard_reporter.load()) reporter->saw(call);
    --guard_calls;
    guard_inside = false;
}

void print_guard_report(GuardReport const& report) { say_line(guard_text(report)); }

void print_and_abort(GuardReport const& report) {
    print_guard_report(report);
    (void)lines_are_written(longest_before_abort);
    std::abort();
}

}  // namespace

// Members go in reverse order: no call is seen, none is in progress, another guard may come.
struct GuardState {
    struct Only {
        Only() {
            if (guard_exists.exchange(true)) {
                throw UsageError(fmt::format(
                    "this process has a Guard already (its own or that of {})", guard_variable));
            }
        }
        ~Only() { guard_exists = false; }
        Only& operator=(Only&&) = delete;
    };
    struct Reported {
        explicit Reported(GuardReporter& reporter) { guard_reporter = &reporter; }
        ~Reported() {
            guard_reporter = nullptr;
            while (guard_calls.load() != 0) sched_yield();
        }
        Reported& operator=(Reported&&) = delete;
    };

    explicit GuardState(Guard::Handler handler)
        : reporter(live_kernels(), std::move(handler)), reported(reporter) {
        (void)stack_of_caller();  // the first call loads a library: do that here
        watch = watch_cuda_calls(guard_saw);
    }

    Only only;
    GuardReporter reporter;
    Reported reported;
    std::shared_ptr<void> watch;
};

void GuardReporter::saw(WatchedCall const& call) noexcept {
    GuardRule const* const rule = guard_rule(call.name);
    if (rule == nullptr || !kernels_.in(call.context)) return;
    if (rule->when == GuardWhen::given && call.null_argument) return;
    if (rule->when == GuardWhen::unloaded && call.loaded) return;
    ++reports_;
    try {
        GuardReport report;
        report.call = call.name;
        if (call.runtime != nullptr) {
            report.call = fmt::format("{} ({})", without_version(call.runtime), call.name);
        }
        report.why = rule->why;
        if (call.kernel != nullptr) report.kernel = boost::core::demangle(call.kernel);
        report.stack = stack_of_caller();
        handler_(report);
    } catch (...) {  // no exception may pass through CUDA
    }
}

std::string guard_text(GuardReport const& report) {
    std::string text = fmt::format("carillon: guard: {}", report.call);
    if (!report.kernel.empty()) text += fmt::format(" of {}", report.kernel);
    text += fmt::format(" may block until a running kernel has ended: {}\n", report.why);
    for (std::string const& frame : report.stack) text += fmt::format("    {}\n", frame);
    return text;
}

GuardAction guard_action(char const* value) {
    std::string_view const text = value != nullptr ? value : "";
    if (text.empty()) return GuardAction::none;
    if (text == "report") return GuardAction::report;
    if (text == "abort") return GuardAction::abort;
    throw UsageError(guard_variable, fmt::format(R"("{}" is neither "report" nor "abort")", text));
}

void start_guard_from_environment() {
    GuardAction const action = guard_action(std::getenv(guard_variable));
    if (action == GuardAction::none) return;
    static std::once_flag once;
    std::call_once(once, [action] {
        try {
            keep_forever(std::make_shared<Guard>(
                action == GuardAction::abort ? print_and_abort : print_guard_report));
        } catch (Error const& error) {
            say_line(
                fmt::format("carillon: {} cannot start a guard: {}", guard_variable, error.what()));
        }
    });
}

}  // namespace carillon::detail

namespace carillon {

Guard::Guard(Handler handler) try
    : state_(std::make_unique<detail::GuardState>(handler ? std::move(handler)
                                                          : detail::print_guard_report)) {
} catch (...) {
    detail::throw_named("Guard");
}
Guard::~Guard() = default;

std::uint64_t Guard::reports() const { return state_->reporter.reports(); }

}  // namespace carillon

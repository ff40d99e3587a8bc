// SPDX-License-Identifier: Apache-2.0
#include "exit_hook.hpp"

#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace carillon::detail {
namespace {

// Never destroyed: hooks may go later than any static object.
struct ExitHooks {
    std::mutex mutex;
    std::set<std::function<void()> const*> all;

    static ExitHooks& get() {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
        static auto& hooks = *new ExitHooks;
        return hooks;
    }
};

void run_exit_hooks() {
    ExitHooks& hooks = ExitHooks::get();
    std::lock_guard const lock(hooks.mutex);
    for (auto const* halt : hooks.all) (*halt)();
    hooks.all.clear();
}

}  // namespace

ExitHook::ExitHook(std::function<void()> halt) : halt_(std::move(halt)) {
    // What was registered last runs first: ahead of drivers that were loaded before.
    static int const registered = std::atexit(run_exit_hooks);
    (void)registered;
    ExitHooks& hooks = ExitHooks::get();
    std::lock_guard const lock(hooks.mutex);
    hooks.all.insert(&halt_);
}

ExitHook::~ExitHook() {
    ExitHooks& hooks = ExitHooks::get();
    std::lock_guard const lock(hooks.mutex);
    hooks.all.erase(&halt_);
}

}  // namespace carillon::detail

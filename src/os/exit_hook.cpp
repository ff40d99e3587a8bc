// SPDX-License-Identifier: Apache-2.0
#include "os/exit_hook.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "carillon/wait.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

// Long enough for a thread that destroys a hook, and short enough for a process to exit.
constexpr std::chrono::seconds longest_wait{1};

std::atomic<bool> exits{false};

// Never destroyed: hooks may go later than any static object.
struct ExitHooks {
    std::mutex mutex;
    std::set<ExitHook*> all;

    static ExitHooks& get() { return PerProcess<ExitHooks>::get(); }
};

void run_exit_hooks() {
    exits = true;
    ExitHooks& hooks = ExitHooks::get();
    std::unique_lock lock(hooks.mutex, std::defer_lock);
    // With a bound: a hook may hang in a driver.
    auto const take = [&] { return lock.try_lock(); };
    if (!HostWait(HostWait::Style::yield).until(take, longest_wait)) return;
    for (ExitHook* hook : hooks.all) hook->run();
    hooks.all.clear();
}

struct Kept {
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> all;
};

}  // namespace

ExitHook::ExitHook(std::function<void()> halt) : halt_(std::move(halt)) {
    static std::once_flag once;
    std::call_once(once, run_exit_hooks_before_drivers);
    ExitHooks& hooks = ExitHooks::get();
    std::lock_guard const lock(hooks.mutex);
    hooks.all.insert(this);
}

ExitHook::~ExitHook() {
    ExitHooks& hooks = ExitHooks::get();
    std::lock_guard const lock(hooks.mutex);
    hooks.all.erase(this);
}

void ExitHook::run() {
    has_run_ = true;
    halt_();
}

// The function that was registered last runs first.
void run_exit_hooks_before_drivers() noexcept { (void)std::atexit(run_exit_hooks); }

bool process_exits() noexcept { return exits; }

void keep_forever(std::shared_ptr<void> what) noexcept {
    try {
        Kept& kept = PerProcess<Kept>::get();
        std::lock_guard const lock(kept.mutex);
        kept.all.push_back(what);
    } catch (std::bad_alloc const&) {  // never destroyed either, but no leak checker finds it
        alignas(std::shared_ptr<void>) std::array<std::byte, sizeof(what)> place;
        new (place.data()) std::shared_ptr<void>(std::move(what));
    }
}

}  // namespace carillon::detail

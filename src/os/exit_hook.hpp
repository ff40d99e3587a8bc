// SPDX-License-Identifier: Apache-2.0
// The end of the process: threads that must end before the drivers' memory is unmapped, and objects
// that stay until then.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace carillon::detail {

// For an object whose thread touches a driver's memory: calls `halt` when the process exits in
// order while this object lives, before the drivers unmap. `halt` ends that thread, within a bound,
// and does not throw. A forked child has none of these threads, and calls nothing.
class ExitHook {
   public:
    explicit ExitHook(std::function<void()> halt);
    ~ExitHook();
    ExitHook& operator=(ExitHook&&) = delete;

    void run();
    // A hook that is made after the others were run is not run; its owner is destroyed as usual.
    [[nodiscard]] bool has_run() const noexcept { return has_run_; }

   private:
    std::function<void()> halt_;
    std::atomic<bool> has_run_ = false;
};

// Call it when a driver has been loaded or has opened something: its exit handlers then run after
// the hooks.
void run_exit_hooks_before_drivers() noexcept;

// Whether the hooks have been run. Then a driver's objects are left as they are: objects with
// static storage may be destroyed later than the driver.
[[nodiscard]] bool process_exits() noexcept;

// For objects that something unstoppable still uses: they end with the process. Otherwise their
// last user would free them, and close their device, while the process is ending.
void keep_forever(std::shared_ptr<void> what) noexcept;

}  // namespace carillon::detail

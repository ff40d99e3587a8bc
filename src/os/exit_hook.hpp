// SPDX-License-Identifier: Apache-2.0
// What has to end before the process takes the drivers' memory away.
#pragma once

#include <atomic>
#include <functional>

namespace carillon::detail {

// For who has a thread that touches memory of a driver: calls `halt` when the process exits in
// order while this object lives, before the drivers take their mappings away. `halt` ends that
// thread, within a bound, and does not throw. A child that was forked has none of these threads,
// and calls nothing.
class ExitHook {
   public:
    explicit ExitHook(std::function<void()> halt);
    ~ExitHook();
    ExitHook(ExitHook const&) = delete;
    ExitHook& operator=(ExitHook const&) = delete;

    void run();
    // A hook that is made after the others were run is not run, and whoever made it goes as ever.
    [[nodiscard]] bool has_run() const noexcept { return has_run_; }

   private:
    std::function<void()> halt_;
    std::atomic<bool> has_run_ = false;
};

// To be called when a driver has been loaded or has opened something: what it registered to be
// undone at exit is undone after the hooks then.
void run_exit_hooks_before_drivers() noexcept;

// The hooks have been run. What is left of a driver's is left as it is: objects with static storage
// may be destroyed later than the driver.
[[nodiscard]] bool process_exits() noexcept;

}  // namespace carillon::detail

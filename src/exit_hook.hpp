// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace carillon::detail {

// For who has a thread that touches memory of a driver: calls `halt` when the process exits in
// order while this object lives, before the drivers take their mappings away. `halt` ends that
// thread, within a bound, and does not throw.
class ExitHook {
   public:
    explicit ExitHook(std::function<void()> halt);
    ~ExitHook();
    ExitHook(ExitHook const&) = delete;
    ExitHook& operator=(ExitHook const&) = delete;

   private:
    std::function<void()> halt_;
};

}  // namespace carillon::detail

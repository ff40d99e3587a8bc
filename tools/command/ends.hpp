// SPDX-License-Identifier: Apache-2.0
// The end of a command that runs until a signal or a key ends it.
#pragma once

#include <carillon/memory.hpp>
#include <chrono>
#include <functional>
#include <optional>

namespace carillon::tool {

// The events that end a program that runs on and on: SIGINT, SIGTERM and SIGHUP, unless the program
// was started with that signal ignored. Make this object before any thread, so that no thread takes
// the signals.
class Ends {
   public:
    Ends();
    // Waits, and returns whether the program shall end: by a signal, or, if `keys`, by q or Ctrl-C.
    [[nodiscard]] bool come_within(std::chrono::milliseconds time, bool keys = false);
    // Waits for a signal, takes it and returns its number. A signal within half a second after it
    // is the same event: `timeout`, a closed terminal and a service manager send two at once.
    [[nodiscard]] int await();
    // Runs `work` on a thread of its own. If the program shall end first, calls `leave` and exits
    // at once with the status that it returns, since nothing can end `work`.
    void do_or_leave(std::function<void()> const& work, std::function<int()> const& leave,
                     bool keys = false);
    [[noreturn]] static void leave_at_once(int status);

   private:
    // Waits as come_within() does, but only until `done` can be read.
    [[nodiscard]] bool come_before(int done, std::chrono::milliseconds time, bool keys);
    [[nodiscard]] static bool key_ends();
    // Takes the signal that has come, if there is one.
    [[nodiscard]] std::optional<int> take_signal();
    // Whether the signal that can be read shall end the program. Takes a signal that only repeats
    // the last one.
    [[nodiscard]] bool signal_ends();

    FileDescriptor signals_;
    std::chrono::steady_clock::time_point
        same_until_{};  // signals repeat the one that await() took
};

}  // namespace carillon::tool

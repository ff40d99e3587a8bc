// SPDX-License-Identifier: Apache-2.0
// How a command ends that goes on until it is told to.
#pragma once

#include <carillon/memory.hpp>
#include <chrono>
#include <functional>
#include <optional>

namespace carillon::tool {

// What ends a program that looks again and again: SIGINT, SIGTERM and SIGHUP, unless the program
// was started with that signal ignored. Made before any thread is, so that none of them takes the
// signals.
class Ends {
   public:
    Ends();
    // Waits, and says whether the program is to end: by a signal, or by q or Ctrl-C where `keys`
    // are looked at.
    [[nodiscard]] bool come_within(std::chrono::milliseconds time, bool keys = false);
    // By a signal: which one, which counts no more. What comes within half a second of it counts as
    // the same: `timeout`, a terminal that is closed and a service manager send two at once.
    [[nodiscard]] int await();
    // Does `work`, on a thread of its own. Where the program is to end first it ends at once: after
    // `leave`, which says with which exit status, since nothing would end `work`.
    void do_or_leave(std::function<void()> const& work, std::function<int()> const& leave,
                     bool keys = false);
    [[noreturn]] static void leave_at_once(int status);

   private:
    // The same until `done` can be read.
    [[nodiscard]] bool come_before(int done, std::chrono::milliseconds time, bool keys);
    [[nodiscard]] static bool key_ends();
    // Takes the signal that has come, if there is one.
    [[nodiscard]] std::optional<int> take_signal();
    // Whether the signal that can be read is to end the program; one that only repeats the last is
    // taken.
    [[nodiscard]] bool signal_ends();

    FileDescriptor signals_;
    std::chrono::steady_clock::time_point
        same_until_{};  // signals repeat the one that await() took
};

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
// Locks of what a process has one of, and a child that it forks has too.
#pragma once

#include <pthread.h>

#include <mutex>

namespace carillon::detail {

// One mutex for each `Of`. A fork takes it, so that the child finds it unlocked, and what it guards
// whole. Whoever holds it does not wait for another one, nor for a thread that may.
template <class Of>
class ForkMutex {
   public:
    // Before main() too.
    [[nodiscard]] static std::mutex& get() {
        (void)registered_;
        return mutex_;
    }

   private:
    static void lock() { mutex_.lock(); }
    static void unlock() { mutex_.unlock(); }

    static inline constinit std::mutex mutex_;
    // From the start of the program, or the loading of the library, on.
    static inline bool const registered_ = ::pthread_atfork(&lock, &unlock, &unlock) == 0;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Locks of the process's single objects, which a forked child has too.
#pragma once

#include <pthread.h>

#include <mutex>

namespace carillon::detail {

// One mutex for each `Of`. A fork takes it, so that the child finds it unlocked and the guarded
// data whole. Its holder waits neither for another such mutex, nor for a thread that may do so.
template <class Of>
class ForkMutex {
   public:
    // Usable before main() too.
    [[nodiscard]] static std::mutex& get() {
        (void)registered_;
        return mutex_;
    }

   private:
    static void lock() { mutex_.lock(); }
    static void unlock() { mutex_.unlock(); }

    static inline constinit std::mutex mutex_;
    // Registers when the program starts, or when the library is loaded.
    static inline bool const registered_ = ::pthread_atfork(&lock, &unlock, &unlock) == 0;
};

}  // namespace carillon::detail

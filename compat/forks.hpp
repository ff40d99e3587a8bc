// SPDX-License-Identifier: Apache-2.0
// A child of fork() has nothing that its parent opened. It finds the lock free.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace carillon::compat {

// The lock of the process's tables. A fork takes it, so that a child finds the lock free and the
// tables whole. A thread that holds it waits for no other lock.
inline constinit std::mutex process_lock;
// How often this process and those that it descends from have been forked. On a line of its own,
// since every copy looks at it.
struct alignas(64) ForkCount {
    std::atomic<unsigned> count = 0;
};
inline constinit ForkCount forks;
// From the loading of the library on.
inline bool const follows_forks =
    ::pthread_atfork([] { process_lock.lock(); }, [] { process_lock.unlock(); },
                     [] {
                         forks.count.fetch_add(1, std::memory_order_relaxed);
                         process_lock.unlock();
                     }) == 0;

// The process that made an object.
class Maker {
   public:
    [[nodiscard]] bool is_a_parent() const noexcept {
        return forks.count.load(std::memory_order_relaxed) != made_;
    }

   private:
    unsigned made_ = forks.count.load(std::memory_order_relaxed);
};

}  // namespace carillon::compat

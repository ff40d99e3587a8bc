// SPDX-License-Identifier: Apache-2.0
// Forks, and calls that a signal may interrupt. A forked child has what its parent had.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <mutex>

namespace carillon::detail {

// One T for each process, also a forked child, never destroyed. A forked child has a new one: its
// parent's may have been in the middle of a change, or locked, and would stay so.
template <class T>
class PerProcess {
   public:
    static T& get() {
        static bool const registered = ::pthread_atfork(nullptr, nullptr, &renew) == 0;
        (void)registered;
        return current()->value;
    }

   private:
    struct Node {
        T value{};
        Node* of_parent = nullptr;
    };

    static Node*& current() {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
        static auto* node = new Node;
        return node;
    }
    static void renew() {
        auto* const own = new Node;
        own->of_parent = current();
        current() = own;
    }
};

// Withholds the pages from children, so that not even a kept address leads a child to them. Whole
// pages only.
void keep_from_children(void* where, std::size_t size) noexcept;
// Withholds a mapping from children, including the rest of its last page.
void keep_mapping_from_children(void* where, std::size_t size) noexcept;

// Lets this process write to its mapped pages, or only read them. Does nothing if they are no whole
// pages, or the system refuses.
void protect_pages(void* where, std::size_t size, bool writable) noexcept;

// For a system call that returns -1 for an error, and that a signal may interrupt.
template <class Call>
auto retried(Call&& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

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

// SPDX-License-Identifier: Apache-2.0
// Whose an object is: a child that a process forks has all of its objects too, but neither its
// threads nor a right to its devices.
#pragma once

#include <atomic>
#include <memory>

#include "carillon/detail/host/named_checks.hpp"
#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// How often this process and those that it descends from have been forked from another. Relaxed: a
// child's first thread has counted before it does anything else, and starts every other. On a line
// of its own, since every call looks at it: nothing is written there but in a child.
struct alignas(64) ForkCount {
    std::atomic<unsigned> count = 0;
};
inline ForkCount forks;

[[noreturn]] void throw_inherited();

// The process that made an object. One load and a comparison, since every message asks.
class ProcessMark {
   public:
    [[nodiscard]] bool inherited() const noexcept {
        return forks.count.load(std::memory_order_relaxed) != made_;
    }
    // Throws ForkError in a child of that process.
    void require_own() const {
        if (inherited()) [[unlikely]]
            throw_inherited();
    }
    CARILLON_WITH_CALL_CONST(require_own)

   private:
    unsigned made_ = forks.count.load(std::memory_order_relaxed);
};

// Deletes what this process made. What a child has inherited stays as it is: its destructor would
// wait for threads that are not there, and write into memory that is the parent's.
class DeleteOwn {
   public:
    DeleteOwn() = default;
    template <class T>
    DeleteOwn(std::default_delete<T> /*other*/) noexcept {}  // NOLINT: what make_unique() gives

    template <class T>
    void operator()(T* what) const {
        if (!mark_.inherited()) delete what;
    }

   private:
    ProcessMark mark_;
};
template <class T>
using OwnedByProcess = std::unique_ptr<T, DeleteOwn>;

}  // namespace carillon::detail

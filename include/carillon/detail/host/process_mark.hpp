// SPDX-License-Identifier: Apache-2.0
// Marks the process of an object. A forked child has all objects of its parent, but neither the
// parent's threads nor a right to its devices.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// How often this process and its ancestors were forked. Relaxed: a child's first thread counts
// before it does anything else, and starts every other thread. It has its own line, which is
// written only in a child, because every call reads it.
struct alignas(64) ForkCount {
    std::atomic<unsigned> count = 0;
};
inline ForkCount forks;

[[noreturn]] void throw_inherited();

// The process that made an object. Every message checks it, by a load and a comparison.
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

   private:
    unsigned made_ = forks.count.load(std::memory_order_relaxed);
};

// Deletes objects that this process made. A child keeps inherited objects: their destructors would
// wait for threads that do not exist, and write into the parent's memory.
class DeleteOwn {
   public:
    DeleteOwn() = default;
    template <class T>
    DeleteOwn(std::default_delete<T> /*other*/) noexcept {}  // NOLINT: make_unique() returns it

    template <class T>
    void operator()(T* what) const {
        if (!mark_.inherited()) delete what;
    }

   private:
    ProcessMark mark_;
};
template <class T>
using OwnedByProcess = std::unique_ptr<T, DeleteOwn>;
template <class T, class... Arguments>
[[nodiscard]] std::shared_ptr<T> make_shared_own(Arguments&&... arguments) {
    return {new T(std::forward<Arguments>(arguments)...), DeleteOwn()};
}

}  // namespace carillon::detail

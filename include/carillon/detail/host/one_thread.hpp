// SPDX-License-Identifier: Apache-2.0
// What is for one thread at a time, used by two at once, or within a call of itself (by a signal
// handler, or a callback): debug builds say so. Ends of rings, channels and clients look at every
// call; what the callers would get without it is wrong replies and lost messages, silently.
#pragma once

#include "carillon/detail/wire/language.hpp"

// 1: calls are looked at, 0: nothing of it is compiled. Objects are laid out alike either way, so
// files compiled with and without it, and the library, go together; of an inline function that both
// have, the linker takes either.
#if !defined(CARILLON_CHECK_THREADS)
#if defined(NDEBUG)
#define CARILLON_CHECK_THREADS 0
#else
#define CARILLON_CHECK_THREADS 1
#endif
#endif

namespace carillon::detail {

// Writes down that this thread is in a call of `end`, and returns true; or false if there is no
// room to write it down. Throws UsageError when a thread, this one or another, is in one already.
// It orders nothing between threads: a thread sanitizer sees what it would see without.
[[nodiscard]] bool enter_call(void const* end);
void leave_call(void const* end) noexcept;

// A call of `end` by the program, from its construction to its destruction. The library makes none
// within it.
template <bool checked = CARILLON_CHECK_THREADS != 0>
class OneThreadCall {
   public:
    explicit OneThreadCall(void const* end) : entered_(enter_call(end) ? end : nullptr) {}
    OneThreadCall(OneThreadCall const&) = delete;
    OneThreadCall& operator=(OneThreadCall const&) = delete;
    ~OneThreadCall() {
        if (entered_ != nullptr) leave_call(entered_);
    }

   private:
    void const* entered_;
};

template <>
class OneThreadCall<false> {
   public:
    explicit OneThreadCall(void const* /*end*/) {}
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Debug builds detect when two threads at once use an object for one thread at a time, or when a
// call runs within another call of itself (by a signal handler or a callback). Ends of rings,
// channels and clients check every call: otherwise wrong replies and lost messages would be silent.
#pragma once

#include "carillon/detail/wire/language.hpp"

// 1: calls are checked; 0: the checks are not compiled. Objects have the same layout either way, so
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

// Records that this thread is in a call of `end`, and returns true; or false if there is no room
// for the record. Throws UsageError if a thread, this one or another, is in one already. It orders
// nothing between threads, so a thread sanitizer sees no difference.
[[nodiscard]] bool enter_call(void const* end);
void leave_call(void const* end) noexcept;

// A call of `end` by the program, as long as this object lives. The library makes no such call
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

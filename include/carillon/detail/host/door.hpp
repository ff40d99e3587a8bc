// SPDX-License-Identifier: Apache-2.0
// The door of a public call: the one place that knows the call's name. Code behind a door throws
// errors that have no name yet, and the door names them. A call of this library that another one
// makes has its own door: the outermost door's name stays, since that is the user's call.
#pragma once

#include <exception>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

// Debug builds detect when two threads at once use an object for one thread at a time, or when a
// call runs within another call of itself (by a signal handler or a callback). Ends of rings,
// channels and clients check every call: otherwise wrong replies and lost messages would be silent.
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
    OneThreadCall& operator=(OneThreadCall&&) = delete;
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

// Names the error that is being handled (Error::name_call), and throws it on. A constructor's door
// is `try : ... {} catch (...) { throw_named("Class"); }`.
[[noreturn, gnu::cold]] void throw_named(std::string_view call);

// Has the error that is being handled keep its name (Error::keep_call), and throws it on.
[[noreturn, gnu::cold]] void throw_kept();

// The error that is being handled, for a caller that throws it to several threads: its name stays,
// since they would write it at the same time.
[[nodiscard]] std::exception_ptr kept_exception();

// Returns what `body` returns. It adds no instruction unless `body` throws, but for a return: a
// call in a try block is no jump.
template <class Body>
[[gnu::always_inline]] inline decltype(auto) in_call(std::string_view call, Body&& body) {
    try {
        return body();
    } catch (...) {
        throw_named(call);
    }
}

// Checks first that this process is that of `mark`, which has a require_own().
template <class Mark, class Body>
[[gnu::always_inline]] inline decltype(auto) in_call(std::string_view call, Mark const& mark,
                                                     Body&& body) {
    try {
        mark.require_own();
        return body();
    } catch (...) {
        throw_named(call);
    }
}

// Checks a call of `end`, too, which is for one thread at a time. Throws UsageError if a thread is
// in a call of `end` already, in builds that check it.
template <class Mark, class Body>
[[gnu::always_inline]] inline decltype(auto) in_call(std::string_view call, void const* end,
                                                     Mark const& mark, Body&& body) {
    try {
        OneThreadCall<> const one(end);
        mark.require_own();
        return body();
    } catch (...) {
        throw_named(call);
    }
}

// Returns what `use` returns, a function of the program's that a call gets. An error of a call that
// it makes keeps that call's name.
template <class Use>
[[gnu::always_inline]] inline decltype(auto) in_callback(Use&& use) {
    try {
        return use();
    } catch (...) {
        throw_kept();
    }
}

}  // namespace carillon::detail

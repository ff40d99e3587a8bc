// SPDX-License-Identifier: Apache-2.0
// The door of a public call: the one place that knows the call's name. Code behind a door throws
// errors without a name, and the door adds it. If a call of this library makes another one, the
// outermost door's name stays, because that is the user's call.
#pragma once

#include <exception>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

// Debug builds detect two threads that use an object for one thread at the same time, and a call
// that runs within another call of itself (by a signal handler or a callback). Ends of rings,
// channels and clients check every call: otherwise wrong replies and lost messages would be silent.
// 1: calls are checked; 0: the checks are not compiled. Objects have the same layout either way, so
// files compiled with and without it, and the library, go together; the linker takes either version
// of an inline function that both have.
#if !defined(CARILLON_CHECK_THREADS)
#if defined(NDEBUG)
#define CARILLON_CHECK_THREADS 0
#else
#define CARILLON_CHECK_THREADS 1
#endif
#endif

namespace carillon::detail {

// Records that this thread is in a call of `end`, and returns true; or false if there is no room
// for the record. Throws UsageError if a thread, this one or another, is already in a call. It
// orders nothing between threads, so a thread sanitizer sees no difference.
[[nodiscard]] bool enter_call(void const* end);
void leave_call(void const* end) noexcept;

// The program's call of `end`, while this object lives. The library makes no such call within it.
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

// Names the error that is being handled (Error::name_call), and rethrows it. A constructor's door
// is `try : ... {} catch (...) { throw_named("Class"); }`.
[[noreturn, gnu::cold]] void throw_named(std::string_view call);

// Keeps the name of the error that is being handled (Error::keep_call), and rethrows it.
[[noreturn, gnu::cold]] void throw_kept();

// Returns the error that is being handled, for a caller that throws it to several threads. Its name
// stays, because the threads would write it at the same time.
[[nodiscard]] std::exception_ptr kept_exception();

// Calls `body` and returns its result. Unless `body` throws, it adds no instruction but a return: a
// call in a try block cannot be a jump.
template <class Body>
[[gnu::always_inline]] inline decltype(auto) in_call(std::string_view call, Body&& body) {
    try {
        return body();
    } catch (...) {
        throw_named(call);
    }
}

// First checks that this process is that of `mark`, which has a require_own().
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

// Also checks a call of `end`, which is for one thread at a time. In builds with that check, throws
// UsageError if a thread is already in a call of `end`.
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

// Calls `use`, a function of the program, and returns its result. An error of a call that `use`
// makes keeps that call's name.
template <class Use>
[[gnu::always_inline]] inline decltype(auto) in_callback(Use&& use) {
    try {
        return use();
    } catch (...) {
        throw_kept();
    }
}

}  // namespace carillon::detail

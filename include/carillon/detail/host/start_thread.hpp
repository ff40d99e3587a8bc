// SPDX-License-Identifier: Apache-2.0
// How the library starts its threads: named, and without the program's signal handlers.
#pragma once

#include <pthread.h>
#include <csignal>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "carillon/detail/host/thread.hpp"

namespace carillon::detail {

// Blocks every signal in a scope, except those that an instruction of the thread itself raises. A
// thread that is started meanwhile inherits this, and runs no signal handler of the program.
class OnlySynchronousSignals {
   public:
    OnlySynchronousSignals() noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (int const each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
            ::sigdelset(&blocked, each);
        }
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    ~OnlySynchronousSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    OnlySynchronousSignals(OnlySynchronousSignals const&) = delete;
    OnlySynchronousSignals& operator=(OnlySynchronousSignals const&) = delete;

   private:
    sigset_t before_{};
};

// A thread that runs `body`, with a name of at most 15 characters and without signal handlers of
// the program. Throws SystemError if the system has no thread to give.
template <class Body>
[[nodiscard]] Thread start_thread(char const* name, Body&& body) {
    OnlySynchronousSignals const masked;
    Thread thread(std::forward<Body>(body));
    ::pthread_setname_np(thread.native_handle(), name);
    return thread;
}

// Runs `work` on a thread with its own stack; returns or throws what it does. Throws SystemError.
template <class Work>
[[nodiscard]] std::invoke_result_t<Work> on_own_thread(char const* name, Work&& work) {
    std::optional<std::invoke_result_t<Work>> result;
    std::exception_ptr failure;
    start_thread(name, [&] {
        try {
            result.emplace(work());
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
    return *std::move(result);
}

}  // namespace carillon::detail

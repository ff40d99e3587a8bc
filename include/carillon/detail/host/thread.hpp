// SPDX-License-Identifier: Apache-2.0
// The library's threads: like std::jthread, but with a stack size chosen by the library, a name,
// and without the program's signal handlers.
#pragma once

#include <pthread.h>
#include <csignal>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace carillon::detail {

// A thread like std::jthread, whose stack would be as small as RLIMIT_STACK.
class Thread {
   public:
    Thread() noexcept = default;  // none
    // Runs `body`, with a std::stop_token if it takes one. Throws SystemError if there is no
    // thread.
    template <class Body>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): its constraint excludes a Thread
    requires(!std::is_same_v<std::remove_cvref_t<Body>, Thread>) explicit Thread(Body&& body)
        : stop_(std::stop_source()), joinable_(true) {
        using Stored = std::decay_t<Body>;
        struct Task {
            Stored body;
            std::stop_token stop;
        };
        std::unique_ptr<Task> task(new Task{std::forward<Body>(body), stop_.get_token()});
        auto const run = [](void* given) -> void* {
            std::unique_ptr<Task> const own(static_cast<Task*>(given));
            if constexpr (std::is_invocable_v<Stored, std::stop_token>) {
                std::move(own->body)(own->stop);
            } else {
                std::move(own->body)();
            }
            return nullptr;
        };
        handle_ = start(run, task.get());
        (void)task.release();
    }
    Thread(Thread&& other) noexcept
        : stop_(std::exchange(other.stop_, std::stop_source(std::nostopstate))),
          joinable_(std::exchange(other.joinable_, false)),
          handle_(other.handle_) {}
    Thread& operator=(Thread&& other) noexcept {
        Thread before(std::move(other));
        std::swap(stop_, before.stop_);
        std::swap(joinable_, before.joinable_);
        std::swap(handle_, before.handle_);
        return *this;
    }
    ~Thread() {
        if (!joinable_) return;
        request_stop();
        join();
    }

    [[nodiscard]] bool joinable() const noexcept { return joinable_; }
    // Whether it is the calling thread, which cannot wait for itself.
    [[nodiscard]] bool is_current() const noexcept {
        return joinable_ && ::pthread_equal(handle_, ::pthread_self()) != 0;
    }
    void join() noexcept {
        ::pthread_join(handle_, nullptr);
        joinable_ = false;
    }
    void detach() noexcept {
        ::pthread_detach(handle_);
        joinable_ = false;
    }
    void request_stop() noexcept { stop_.request_stop(); }
    [[nodiscard]] std::stop_source get_stop_source() const noexcept { return stop_; }
    [[nodiscard]] pthread_t native_handle() const noexcept { return handle_; }

   private:
    [[nodiscard]] static pthread_t start(void* (*run)(void*), void* task);

    std::stop_source stop_{std::nostopstate};
    bool joinable_ = false;
    pthread_t handle_{};
};

// Blocks every signal in a scope, except those that an instruction of the thread itself raises. A
// thread started meanwhile inherits this, and runs no signal handler of the program.
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
    OnlySynchronousSignals& operator=(OnlySynchronousSignals&&) = delete;

   private:
    sigset_t before_{};
};

// Starts a thread that runs `body`, with a name of at most 15 characters and without the program's
// signal handlers. Throws SystemError if the system cannot make a thread.
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

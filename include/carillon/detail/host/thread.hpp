// SPDX-License-Identifier: Apache-2.0
// A thread like std::jthread, with a stack of a size that the library chooses.
#pragma once

#include <pthread.h>

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace carillon::detail {

// std::jthread's stack would be as small as RLIMIT_STACK says.
class Thread {
   public:
    Thread() noexcept = default;  // none
    // Runs `body`, with a std::stop_token if it takes one. Throws SystemError if the system has no
    // thread to give.
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
    Thread(Thread const&) = delete;
    Thread& operator=(Thread const&) = delete;
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

}  // namespace carillon::detail

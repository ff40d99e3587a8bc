// SPDX-License-Identifier: Apache-2.0
// A kernel's start, which the driver may block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "carillon/detail/host/deadline.hpp"
#include "device/allocation.hpp"
#include "device/residents.hpp"

namespace carillon::detail {

// The start of a kernel by a thread of the library, which the driver may block. The caller waits
// for a limited time. A kernel that starts later is abandoned.
class PendingStart {
   public:
    // Whether the waiter has given up.
    [[nodiscard]] bool given_up() const {
        std::lock_guard const lock(mutex_);
        return given_up_;
    }

    // For the thread: `start` returns the execution, or throws.
    template <class Start>
    void run(Residents& residents, Start&& start) noexcept {
        std::unique_ptr<Execution> execution;
        std::exception_ptr failure;
        try {
            execution = start();
        } catch (...) {
            failure = std::current_exception();
        }
        std::lock_guard const lock(mutex_);
        if (given_up_ && execution) {
            residents.adopt(std::move(execution));
        } else {
            execution_ = std::move(execution);
        }
        failure_ = std::move(failure);
        done_ = true;
        changed_.notify_all();
    }

    // For the waiter. False: the time is over, and the start is given up.
    [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) {
        Deadline const deadline(timeout);
        std::unique_lock lock(mutex_);
        auto const done = [this] { return done_; };
        if (deadline.at() == Deadline::Clock::time_point::max()) {
            changed_.wait(lock, done);
        } else {
            changed_.wait_until(lock, deadline.at(), done);
        }
        given_up_ = !done_;
        return done_;
    }
    // When it is done: the execution, or the exception of the start.
    [[nodiscard]] std::unique_ptr<Execution> take() {
        if (failure_) std::rethrow_exception(failure_);
        return std::move(execution_);
    }

   private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    bool given_up_ = false;
    std::unique_ptr<Execution> execution_;
    std::exception_ptr failure_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// A kernel's start, which the driver may block.
#pragma once

#include <chrono>
#include <exception>
#include <future>
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
        try {
            std::unique_ptr<Execution> execution = start();
            std::lock_guard const lock(mutex_);
            if (given_up_ && execution) {
                residents.adopt(std::move(execution));
            } else {
                promise_.set_value(std::move(execution));
            }
        } catch (...) {
            promise_.set_exception(std::current_exception());
        }
    }

    // For the waiter. False: the time is over, and the start is given up.
    [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) {
        Deadline const deadline(timeout);
        if (deadline.at() == Deadline::Clock::time_point::max()) {
            result_.wait();
        } else {
            (void)result_.wait_until(deadline.at());
        }
        std::lock_guard const lock(mutex_);
        given_up_ = result_.wait_for(std::chrono::nanoseconds(0)) != std::future_status::ready;
        return !given_up_;
    }
    // When it is done: the execution, or the exception of the start.
    [[nodiscard]] std::unique_ptr<Execution> take() { return result_.get(); }

   private:
    mutable std::mutex mutex_;
    bool given_up_ = false;
    std::promise<std::unique_ptr<Execution>> promise_;
    std::future<std::unique_ptr<Execution>> result_ = promise_.get_future();
};

}  // namespace carillon::detail

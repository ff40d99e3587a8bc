// SPDX-License-Identifier: Apache-2.0
// Calls that wait for another process, as long as their timeout, and that Ctrl-C ends.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "gil.hpp"
#include "waits.hpp"

namespace carillon::python {

// Whether this thread is the one that Python's handlers of signals run in.
[[nodiscard]] bool signals_come_here();

// A thread that does one job after the other, without Python. It is kept for the next call; only a
// thread whose job nobody waits for any more goes when it has done it. It needs the GIL.
class Helper {
   public:
    // The helper has nothing to do. Throws std::system_error if there is no thread.
    Helper();
    Helper(Helper const&) = delete;
    Helper& operator=(Helper const&) = delete;
    ~Helper();

    void start(std::function<void()> job);
    // The job is done.
    void done() { busy_ = false; }

   private:
    struct Work;

    std::shared_ptr<Work> work_;
    bool busy_ = false;
};

// The result of a job, for a caller that may not listen any more.
template <class Result>
struct Said {
    using Value = std::conditional_t<std::is_void_v<Result>, bool, Result>;

    std::mutex mutex;
    std::condition_variable told;
    bool over = false;
    bool given_up = false;
    std::optional<Value> value;
    std::exception_ptr error;

    void tell() {
        std::lock_guard const lock(mutex);
        over = true;
        if (given_up) --calls_given_up;
        told.notify_all();
    }
    void give_up() {
        std::lock_guard const lock(mutex);
        given_up = true;
        if (!over) ++calls_given_up;
    }
    [[nodiscard]] bool wait() {
        std::unique_lock lock(mutex);
        return told.wait_for(lock, longest_part, [this] { return over; });
    }
};

// Returns what `ask` returns, which has all that it uses by value, and runs in another thread if
// signals come to this one. Throws what it throws, and what a signal's handler in Python raises:
// then `ask` goes on, and its result is dropped.
template <class Ask>
auto unless_interrupted(Ask ask) -> std::invoke_result_t<Ask&> {
    using Result = std::invoke_result_t<Ask&>;
    if (!signals_come_here()) {
        OthersRun const others_run;
        return ask();
    }
    auto said = std::make_shared<Said<Result>>();
    auto asks = std::make_shared<std::optional<Ask>>(std::move(ask));
    Helper helper;
    helper.start([said, asks = std::move(asks)] {
        try {
            if constexpr (std::is_void_v<Result>) {
                (**asks)();
            } else {
                said->value.emplace((**asks)());
            }
        } catch (...) {
            said->error = std::current_exception();
        }
        asks->reset();  // frees what it has before anybody goes on
        said->tell();
    });
    try {
        for (;;) {
            bool over = false;
            {
                OthersRun const others_run;
                over = said->wait();
            }
            if (over) break;
            raise_signals();
        }
    } catch (...) {
        said->give_up();
        OthersRun const others_run;
        said.reset();
        throw;
    }
    helper.done();
    if (said->error) std::rethrow_exception(said->error);
    if constexpr (!std::is_void_v<Result>) return std::move(*said->value);
}

}  // namespace carillon::python

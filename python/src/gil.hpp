// SPDX-License-Identifier: Apache-2.0
// The GIL, as threads release and acquire it. Python that ends does not let any other thread have
// it again: up to 3.13 it ends such a thread as pthread_exit() does, by unwinding its stack, which
// no destructor lets through. It stays where it is instead, as from 3.14 on.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <carillon/detail/host/thread.hpp>
#include <memory>
#include <utility>

namespace carillon::python {

// Returns what `call` returns, which acquires the GIL, unless Python ends. Between the two there is
// nothing whose destructor needs Python.
template <class Call>
auto or_stay(Call const& call) {
    try {
        return call();
    } catch (abi::__forced_unwind const&) {
        for (;;) ::pause();
    }
}

// Other threads of Python run as long as this lives.
class OthersRun {
   public:
    OthersRun() : state_(PyEval_SaveThread()) {}
    OthersRun(OthersRun const&) = delete;
    OthersRun& operator=(OthersRun const&) = delete;
    ~OthersRun() {
        or_stay([this] { PyEval_RestoreThread(state_); });
    }

   private:
    PyThreadState* state_;
};

// Calls that Ctrl-C has ended for their callers, and that go on (elsewhere.hpp).
inline std::atomic<unsigned> calls_given_up = 0;

// An object that goes without the GIL: on its way it may wait for another process, or a lock that a
// thread has which does; for a call that was given up nobody waits. Made and destroyed with the
// GIL.
template <class T>
class Outside {
   public:
    Outside(T&& object) : object_(std::make_unique<T>(std::move(object))) {}  // NOLINT
    Outside(Outside&&) noexcept = default;
    Outside& operator=(Outside&&) = delete;
    Outside(Outside const&) = delete;
    Outside& operator=(Outside const&) = delete;
    ~Outside() {
        if (!object_) return;
        OthersRun const others_run;
        if (calls_given_up != 0) {
            detail::start_thread("carillon-python", [object = std::move(object_)]() mutable {
                object.reset();
            }).detach();
        }
        object_.reset();
    }
    [[nodiscard]] T& operator*() const { return *object_; }
    [[nodiscard]] T* operator->() const { return object_.get(); }

   private:
    std::unique_ptr<T> object_;
};

}  // namespace carillon::python

// SPDX-License-Identifier: Apache-2.0
// The GIL, as threads let go of it and come for it. Python that ends does not let any other thread
// have it again: up to 3.13 it ends such a thread as pthread_exit() does, by unwinding its stack,
// which no destructor lets through. It stays where it is instead, as from 3.14 on.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace carillon::python {

// What `call` returns, which comes for the GIL: unless Python ends. Between the two there is
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

}  // namespace carillon::python

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "carillon/error.hpp"
#include "errors.hpp"

namespace carillon::python {

// Of an object that one thread at a time may use: whether one does.
struct Busy {
    bool busy = false;
};

// A thread is in a call. Throws UsageError where one is already: waits let other threads run, and
// handlers of signals, and what two do at the same time would be lost. Made and destroyed with the
// GIL.
class InCall {
   public:
    explicit InCall(Busy& busy) : busy_(busy) {
        if (busy.busy) {
            throw UsageError(
                "another thread is in a call of this object, or a signal has "
                "interrupted one");
        }
        busy.busy = true;
    }
    InCall(InCall const&) = delete;
    InCall& operator=(InCall const&) = delete;
    ~InCall() { busy_.busy = false; }

   private:
    Busy& busy_;
};

}  // namespace carillon::python

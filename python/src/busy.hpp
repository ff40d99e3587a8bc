// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "carillon/error.hpp"
#include "errors.hpp"

namespace carillon::python {

// Whether a thread uses an object that is for one thread at a time.
struct Busy {
    bool busy = false;
};

// A thread is in a call. Throws UsageError if one is already: waits let other threads run, and
// handlers of signals, and the effects of two at the same time would be lost. It is made and
// destroyed with the GIL.
class InCall {
   public:
    explicit InCall(Busy& busy) : busy_(busy) {
        if (busy.busy) {
            throw UsageError(
                "another thread is in a call of this object, or a signal interrupted one: "
                "give each thread its own object, or hold a lock");
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

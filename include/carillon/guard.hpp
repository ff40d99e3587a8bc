// SPDX-License-Identifier: Apache-2.0
// A debug mode that names the CUDA calls which would hang because a persistent kernel lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"

namespace carillon {

// One call that may block until a kernel has ended.
struct GuardReport {
    std::string call;    // "cudaFree (cuMemFree_v2)", or the driver's name alone
    std::string why;     // what it waits for
    std::string kernel;  // the kernel that was to be launched; empty for other calls
    // Innermost first, from the caller of the CUDA call as far as known. A function that its
    // program does not export (-rdynamic) is "file+0x1234", for addr2line.
    std::vector<std::string> stack;
};

namespace detail {
struct GuardState;
}

// Watches the CUDA calls of this process, of other libraries too, and reports each that may block
// behind a kernel of this library, before it does. A kernel counts until finished(), state() or a
// wait has seen its end. Under lazy loading start the guard before the first launch of anything:
// of what was launched earlier it cannot always tell whether it is loaded. Calls that only ask
// about a kernel (cudaFuncGetAttributes) are not watched, though some driver may load it for them.
// One at a time: CARILLON_GUARD=report and CARILLON_GUARD=abort in the environment start one when
// the first GPU is opened. For debugging: every CUDA call costs more while one lives.
class Guard {
   public:
    // Called in the thread that makes the call, ahead of it. What it throws is dropped, and its own
    // CUDA calls are not reported. It must not destroy the guard.
    using Handler = std::function<void(GuardReport const&)>;

    // Without a handler reports go to stderr. Throws UsageError (a second guard), UnsupportedError
    // (no CUDA driver, no CUPTI in this build or on this machine, a profiler that has CUPTI),
    // CudaError (with CUPTI's number and name).
    explicit Guard(Handler handler = {});
    // Waits for handlers that are running.
    ~Guard();
    Guard(Guard const&) = delete;
    Guard& operator=(Guard const&) = delete;

    // How many calls it has reported so far.
    [[nodiscard]] std::uint64_t reports() const;

   private:
    detail::OwnedByProcess<detail::GuardState> state_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// `Guard`, for debugging: names the CUDA calls that would hang because a persistent kernel lives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"

namespace carillon {

// One call that may block until a kernel has ended.
struct GuardReport {
    std::string call;    // "cudaFree (cuMemFree_v2)", or only the driver's name
    std::string why;     // the reason why it may block
    std::string kernel;  // the kernel of a launch; empty for other calls
    // The call stack, innermost first, from the caller of the CUDA call if that is known. A
    // function that its program does not export (-rdynamic) is "file+0x1234", for addr2line.
    std::vector<std::string> stack;
};

namespace detail {
struct GuardState;
}

// Watches the CUDA calls of this process, including those of other libraries. Before a call that
// may block behind a kernel of this library, it reports the call. A kernel counts until finished(),
// state() or a wait has seen its end. Under lazy loading start the guard before the first launch of
// any kernel: it cannot always tell whether a kernel launched earlier is loaded. Calls that only
// query a kernel (cudaFuncGetAttributes) are not watched, though some driver may load the kernel
// for them. Only one guard can exist: CARILLON_GUARD=report and CARILLON_GUARD=abort in the
// environment start one when the first GPU is opened. It slows down every CUDA call.
class Guard {
   public:
    // Is called in the thread that makes the call, before the call. Its exceptions are dropped, and
    // its own CUDA calls are not reported. It must not destroy the guard.
    using Handler = std::function<void(GuardReport const&)>;

    // Without a handler, reports go to stderr. Throws UsageError (a second guard), UnsupportedError
    // (no CUDA driver, no CUPTI in this build or on this machine, or a profiler uses CUPTI),
    // CudaError (with CUPTI's number and name).
    explicit Guard(Handler handler = {});
    // Waits for handlers that are running.
    ~Guard();

    // The number of reported calls.
    [[nodiscard]] std::uint64_t reports() const;

   private:
    detail::OwnedByProcess<detail::GuardState> state_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// A debug mode that names the CUDA calls which would hang because a persistent kernel lives.
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
    std::string why;     // what it waits for
    std::string kernel;  // the kernel of a launch; empty for other calls
    // Innermost first, from the caller of the CUDA call if that is known. A function that its
    // program does not export (-rdynamic) is "file+0x1234", for addr2line.
    std::vector<std::string> stack;
};

namespace detail {
struct GuardState;
}

// Watches the CUDA calls of this process, also those of other libraries. It reports each call that
// may block behind a kernel of this library before the call does so. A kernel counts until
// finished(), state() or a wait has seen its end. Under lazy loading start the guard before the
// first launch of any kernel: it cannot always tell whether a kernel launched earlier is loaded.
// Calls that only ask about a kernel (cudaFuncGetAttributes) are not watched, though some driver
// may load it for them. One guard at a time: CARILLON_GUARD=report and CARILLON_GUARD=abort in the
// environment start one when the first GPU is opened. For debugging: a guard slows down every CUDA
// call.
class Guard {
   public:
    // Called in the thread that makes the call, before the call. Exceptions of the handler are
    // dropped, and its own CUDA calls are not reported. The handler must not destroy the guard.
    using Handler = std::function<void(GuardReport const&)>;

    // Without a handler reports go to stderr. Throws UsageError (a second guard), UnsupportedError
    // (no CUDA driver, no CUPTI in this build or on this machine, or a profiler uses CUPTI),
    // CudaError (with CUPTI's number and name).
    explicit Guard(Handler handler = {});
    // Waits for handlers that are running.
    ~Guard();

    // The number of calls reported so far.
    [[nodiscard]] std::uint64_t reports() const;

   private:
    detail::OwnedByProcess<detail::GuardState> state_;
};

}  // namespace carillon

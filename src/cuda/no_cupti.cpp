// SPDX-License-Identifier: Apache-2.0
// Replaces cupti_watch.cpp in a build without cuda.h or cupti.h.
#include "carillon/error.hpp"
#include "guard/guard_reporter.hpp"

namespace carillon::detail {

std::shared_ptr<void> watch_cuda_calls(void (*)(WatchedCall const&)) {
    throw UnsupportedError(
        "this build of Carillon has no CUPTI, because cupti.h was missing (scripts/setup --cuda "
        "fetches it)");
}

}  // namespace carillon::detail

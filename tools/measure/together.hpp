// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace carillon::tool {

// Runs `prepare(i)` and then `work(i)` on `threads` threads, i from 0: they begin their work
// together, when all are prepared. Returns the seconds from the first's beginning to the last's
// end. Rethrows the first exception, once all have ended.
double run_together(unsigned threads, std::function<void(unsigned)> const& prepare,
                    std::function<void(unsigned)> const& work);

}  // namespace carillon::tool

// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/taken_once.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"

namespace carillon::detail {

void TakenOnce::take(std::string_view call, CodeLocation const& taker) {
    if (first_.file != nullptr) {
        throw UsageError(call, fmt::format("{}:{} takes an end that {}:{} has taken: it is for one "
                                           "kernel, once; for several make a ring for each, or a "
                                           "MpmcRing",
                                           taker.file, taker.line, first_.file, first_.line));
    }
    first_ = taker;
}

}  // namespace carillon::detail

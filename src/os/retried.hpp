// SPDX-License-Identifier: Apache-2.0
// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace carillon::detail {

// For a call that returns -1 for an error, and that a signal may interrupt.
template <class Call>
auto retried(Call&& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

}  // namespace carillon::detail

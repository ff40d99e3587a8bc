// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

#if CARILLON_THREAD_SANITIZER || CARILLON_ADDRESS_SANITIZER
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

// How often a test repeats an identical step: `times`, but fewer times under a sanitizer, which
// makes each step ten times slower and finds its faults in the first ones. The build without a
// sanitizer does all of them.
constexpr std::uint64_t repeated(std::uint64_t times) {
    return under_sanitizer ? times / 5 : times;
}

}  // namespace carillon::test

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

// How often a test does again what is the same each time: `times`, but fewer under a sanitizer,
// which takes ten times as long over each and finds what it finds in the first of them. The build
// without one does them all.
constexpr std::uint64_t repeated(std::uint64_t times) {
    return under_sanitizer ? times / 5 : times;
}

}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// What is to be near when it is needed. Hints: nothing is read that a program could notice.
#pragma once

#include <xmmintrin.h>

#include <cstddef>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::cpu {

// The line of an address, and its translation. Of write-combining and uncached memory an x86 CPU
// fetches nothing (Intel SDM, PREFETCHh); to know that it has to look the page up.
inline void prefetch(void const* where) {
    _mm_prefetch(static_cast<char const*>(where), _MM_HINT_T0);
}

// The first lines of a function, into the caches that data and code share.
template <class Function>
void prefetch_code(Function* function, std::size_t lines) {
    auto const* const code = reinterpret_cast<char const*>(function);
    for (std::size_t i = 0; i < lines; ++i) prefetch(code + i * 64);
}

}  // namespace carillon::detail::cpu

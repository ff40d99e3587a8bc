// SPDX-License-Identifier: Apache-2.0
// Prefetches: hints without an effect that a program could notice.
#pragma once

#include <xmmintrin.h>

#include <cstddef>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::cpu {

// Fetches the line of an address, and its translation. An x86 CPU only looks up the page of
// write-combining and uncached memory (Intel SDM, PREFETCHh).
inline void prefetch(void const* where) {
    _mm_prefetch(static_cast<char const*>(where), _MM_HINT_T0);
}

// Fetches the first lines of a function, into the caches that data and code share.
template <class Function>
void prefetch_code(Function* function, std::size_t lines) {
    auto const* const code = reinterpret_cast<char const*>(function);
    for (std::size_t i = 0; i < lines; ++i) prefetch(code + i * 64);
}

}  // namespace carillon::detail::cpu

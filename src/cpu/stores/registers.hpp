// SPDX-License-Identifier: Apache-2.0
// A line in registers: one for each quad, see X86::store_line.
#pragma once

#include <immintrin.h>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Calls store_quad(where, quad) for each quad.
template <class StoreQuad>
void store_each(Line* to, __m128i quad0, __m128i quad1, __m128i quad2, __m128i quad3,
                StoreQuad&& store_quad) {
    auto* const out = reinterpret_cast<__m128i*>(to);
    store_quad(out, quad0);
    store_quad(out + 1, quad1);
    store_quad(out + 2, quad2);
    store_quad(out + 3, quad3);
}

__attribute__((target("avx2"))) inline __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

__attribute__((target("avx512f"))) inline __m512i join(__m128i quad0, __m128i quad1, __m128i quad2,
                                                       __m128i quad3) {
    constexpr __mmask8 everything = 0xff;  // unmasked, GCC 12 warns of its own header
    return _mm512_maskz_inserti64x4(everything, _mm512_castsi256_si512(join(quad0, quad1)),
                                    join(quad2, quad3), 1);
}

}  // namespace carillon::detail

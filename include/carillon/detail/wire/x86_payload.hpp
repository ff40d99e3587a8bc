// SPDX-License-Identifier: Apache-2.0
// Lays out 48 bytes as a line and back, in the CPU's vector registers, for the host's ends. The
// width of a load matters: a load that needs the bytes of two stores waits until both have left the
// store buffer, and older stores into lines of another core may be ahead of them.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::x86 {

struct Payload {
    __m128i part[3];
};

// One vector for each quad, with the tag in its last word.
struct Quads {
    __m128i quad[4];
};

[[nodiscard]] inline int load_4(std::byte const* from) {
    int word = 0;
    std::memcpy(&word, from, sizeof(word));
    return word;
}

[[nodiscard]] inline __m128i quad_of(std::byte const* payload, std::uint32_t tag) {
    return _mm_set_epi32(static_cast<int>(tag), load_4(payload + 8), load_4(payload + 4),
                         load_4(payload));
}

// Loads words of 4 bytes, because the message's fields may have been written just before.
[[nodiscard]] inline Quads lay_out(void const* payload, std::uint32_t tag) {
    auto const* const bytes = static_cast<std::byte const*>(payload);
    return {{quad_of(bytes, tag), quad_of(bytes + 12, tag), quad_of(bytes + 24, tag),
             quad_of(bytes + 36, tag)}};
}

[[nodiscard]] inline Payload payload_of(Quads const& line) {
    __m128i const words = _mm_set_epi32(0, -1, -1, -1);
    __m128i const word = _mm_set_epi32(0, 0, 0, -1);
    __m128i const* const quad = line.quad;
    return {{_mm_or_si128(_mm_and_si128(quad[0], words), _mm_slli_si128(quad[1], 12)),
             _mm_or_si128(_mm_move_epi64(_mm_srli_si128(quad[1], 4)), _mm_slli_si128(quad[2], 8)),
             _mm_or_si128(_mm_and_si128(_mm_srli_si128(quad[2], 8), word),
                          _mm_slli_si128(quad[3], 4))}};
}

}  // namespace carillon::detail::x86

// SPDX-License-Identifier: Apache-2.0
// See cpu/store_forms.hpp for what a form of stores has.
#pragma once

#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/registers.hpp"

namespace carillon::detail {
namespace {

// Streaming stores of 16 bytes.
struct Sse2Stores {
    static constexpr StoreTraits traits{StoreKind::sse2, "sse2", "", 16, PublishMode::two_step};
    static constexpr int bulk_rank = 1;

    static bool supported() { return true; }
    static bool rows_leave_whole() { return false; }

    [[gnu::hot]] static void store(Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                                   __m128i quad3) {
        store_each(to, quad0, quad1, quad2, quad3,
                   [](__m128i* quad, __m128i value) { _mm_stream_si128(quad, value); });
    }

    static void copy_lines(std::byte* to, std::byte const* from, std::size_t lines) {
        auto* out = reinterpret_cast<__m128i*>(to);
        auto const* in = reinterpret_cast<__m128i const*>(from);
        for (; lines != 0; --lines, in += 4, out += 4) {
            __m128i const first = _mm_loadu_si128(in);
            __m128i const second = _mm_loadu_si128(in + 1);
            __m128i const third = _mm_loadu_si128(in + 2);
            __m128i const fourth = _mm_loadu_si128(in + 3);
            _mm_stream_si128(out, first);
            _mm_stream_si128(out + 1, second);
            _mm_stream_si128(out + 2, third);
            _mm_stream_si128(out + 3, fourth);
        }
    }
};

}  // namespace
}  // namespace carillon::detail

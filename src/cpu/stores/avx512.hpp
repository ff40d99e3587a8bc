// SPDX-License-Identifier: Apache-2.0
// See cpu/store_forms.hpp for what a form of stores has.
#pragma once

#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/registers.hpp"

namespace carillon::detail {
namespace {

// Streaming stores of 64 bytes.
struct Avx512Stores {
    static constexpr StoreTraits traits{StoreKind::avx512, "avx512", "avx512f", 64,
                                        PublishMode::two_step};
    // Measured on a Xeon (Emerald Rapids), for each line: 3.5 ns by AVX-512, 6.4 to 8 by MOVDIR64B.
    static constexpr int bulk_rank = 4;

    static bool supported() { return __builtin_cpu_supports("avx512f") != 0; }
    // On these CPUs a 64-byte streaming store fills a write-combining buffer at once, so none is
    // ever evicted half full (measured: docs/guarantees.md).
    static bool rows_leave_whole() { return __builtin_cpu_is("intel") != 0; }

    __attribute__((hot, target("avx512f"))) static void store(Line* to, __m128i quad0,
                                                              __m128i quad1, __m128i quad2,
                                                              __m128i quad3) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), join(quad0, quad1, quad2, quad3));
    }

    __attribute__((target("avx512f"))) static void store_payloads(Line* to,
                                                                  std::byte const* payload,
                                                                  std::size_t count, Tag tag) {
        for (std::size_t i = 0; i < count; ++i, payload += payload_bytes) {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), compose(payload, tag++));
        }
    }

    __attribute__((target("avx512f"))) static void copy_lines(std::byte* to, std::byte const* from,
                                                              std::size_t lines) {
        auto* out = reinterpret_cast<__m512i*>(to);
        auto const* in = reinterpret_cast<__m512i const*>(from);
        for (; lines >= 4; lines -= 4, in += 4, out += 4) {
            __m512i const first = _mm512_loadu_si512(in);
            __m512i const second = _mm512_loadu_si512(in + 1);
            __m512i const third = _mm512_loadu_si512(in + 2);
            __m512i const fourth = _mm512_loadu_si512(in + 3);
            _mm512_stream_si512(out, first);
            _mm512_stream_si512(out + 1, second);
            _mm512_stream_si512(out + 2, third);
            _mm512_stream_si512(out + 3, fourth);
        }
        for (; lines != 0; --lines) _mm512_stream_si512(out++, _mm512_loadu_si512(in++));
    }

   private:
    // Composes a line in registers: if small pieces were put together in memory and loaded as a
    // whole, the load would wait until the pieces have left the store buffer.
    __attribute__((target("avx512f"))) static __m512i compose(void const* payload, Tag tag) {
        constexpr __mmask16 payload_words = 0x7777;
        return _mm512_mask_expandloadu_epi32(_mm512_set1_epi32(static_cast<int>(tag)),
                                             payload_words, payload);
    }
};

}  // namespace
}  // namespace carillon::detail

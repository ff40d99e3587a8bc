// SPDX-License-Identifier: Apache-2.0
// See cpu/store_forms.hpp for what a form of stores has.
#pragma once

#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/registers.hpp"

namespace carillon::detail {
namespace {

// Streaming stores of 32 bytes.
struct Avx2Stores {
    static constexpr StoreTraits traits{StoreKind::avx2, "avx2", "avx2", 32, PublishMode::two_step};
    static constexpr int bulk_rank = 2;

    static bool supported() { return __builtin_cpu_supports("avx2") != 0; }
    static bool rows_leave_whole() { return false; }

    __attribute__((hot, target("avx2"))) static void store(Line* to, __m128i quad0, __m128i quad1,
                                                           __m128i quad2, __m128i quad3) {
        auto* const out = reinterpret_cast<__m256i*>(to);
        _mm256_stream_si256(out, join(quad0, quad1));
        _mm256_stream_si256(out + 1, join(quad2, quad3));
    }

    // Payload words 0 to 5 go to the first half of the line, 6 to 11 to the second.
    __attribute__((target("avx2"))) static void store_payloads(Line* to, std::byte const* payload,
                                                               std::size_t count, Tag tag) {
        constexpr int tags = 0x88;
        constexpr std::size_t second_half = payload_bytes - sizeof(__m256i);
        __m256i const from_start = _mm256_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0);
        __m256i const from_end = _mm256_setr_epi32(2, 3, 4, 0, 5, 6, 7, 0);
        for (std::size_t i = 0; i < count; ++i, payload += payload_bytes, ++tag) {
            __m256i const tagged = _mm256_set1_epi32(static_cast<int>(tag));
            auto const* const in = reinterpret_cast<__m256i const*>(payload);
            auto const* const end = reinterpret_cast<__m256i const*>(payload + second_half);
            auto* const out = reinterpret_cast<__m256i*>(to + i);
            __m256i const first = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(in), from_start);
            __m256i const second = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(end), from_end);
            _mm256_stream_si256(out, _mm256_blend_epi32(first, tagged, tags));
            _mm256_stream_si256(out + 1, _mm256_blend_epi32(second, tagged, tags));
        }
    }

    __attribute__((target("avx2"))) static void copy_lines(std::byte* to, std::byte const* from,
                                                           std::size_t lines) {
        auto* out = reinterpret_cast<__m256i*>(to);
        auto const* in = reinterpret_cast<__m256i const*>(from);
        for (; lines != 0; --lines, in += 2, out += 2) {
            __m256i const first = _mm256_loadu_si256(in);
            __m256i const second = _mm256_loadu_si256(in + 1);
            _mm256_stream_si256(out, first);
            _mm256_stream_si256(out + 1, second);
        }
    }
};

}  // namespace
}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// See cpu/store_forms.hpp for what a form of stores has.
#pragma once

#include <cpuid.h>

#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/avx512.hpp"
#include "cpu/stores/registers.hpp"

namespace carillon::detail {
namespace {

// One direct store of 64 bytes.
struct Movdir64bStores {
    static constexpr StoreTraits traits{StoreKind::movdir64b, "movdir64b", "movdir64b", 64,
                                        PublishMode::one_step};
    static constexpr int bulk_rank = 3;

    static bool supported() {
        unsigned eax = 0;
        unsigned ebx = 0;
        unsigned ecx = 0;
        unsigned edx = 0;
        return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 28)) != 0;
    }
    static bool rows_leave_whole() { return true; }

    [[gnu::hot]] static void store(Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                                   __m128i quad3) {
        return has_avx512 ? store_joined(to, quad0, quad1, quad2, quad3)
                          : store_apart(to, quad0, quad1, quad2, quad3);
    }

    // The instruction reads its source itself, from any address.
    __attribute__((target("movdir64b"))) static void copy_lines(std::byte* to,
                                                                std::byte const* from,
                                                                std::size_t lines) {
        for (; lines != 0; --lines, to += sizeof(Line), from += sizeof(Line)) _movdir64b(to, from);
    }

   private:
    static inline bool const has_avx512 = Avx512Stores::supported();

    __attribute__((hot, target("movdir64b"))) static void store_apart(Line* to, __m128i quad0,
                                                                      __m128i quad1, __m128i quad2,
                                                                      __m128i quad3) {
        Line line;
        store_each(&line, quad0, quad1, quad2, quad3,
                   [](__m128i* quad, __m128i value) { _mm_store_si128(quad, value); });
        _movdir64b(to, &line);
    }

    __attribute__((hot, target("avx512f,movdir64b"))) static void store_joined(
        Line* to, __m128i quad0, __m128i quad1, __m128i quad2, __m128i quad3) {
        Line line;
        _mm512_store_si512(&line, join(quad0, quad1, quad2, quad3));
        _movdir64b(to, &line);
    }
};

}  // namespace
}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/machine/x86.hpp"

#include <cpuid.h>
#include <immintrin.h>

#include <array>

#include "carillon/detail/access/host_mapped.hpp"

namespace carillon {
namespace {

bool has_movdir64b() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 28)) != 0;
}

__attribute__((target("avx2"))) __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

__attribute__((target("avx512f"))) __m512i join(__m128i quad0, __m128i quad1, __m128i quad2,
                                                __m128i quad3) {
    constexpr __mmask8 everything = 0xff;  // unmasked, GCC 12 warns of its own header
    return _mm512_maskz_inserti64x4(everything, _mm512_castsi256_si512(join(quad0, quad1)),
                                    join(quad2, quad3), 1);
}

template <class StoreQuad>
void store_each(Line* to, __m128i quad0, __m128i quad1, __m128i quad2, __m128i quad3,
                StoreQuad&& store_quad) {
    auto* const out = reinterpret_cast<__m128i*>(to);
    store_quad(out, quad0);
    store_quad(out + 1, quad1);
    store_quad(out + 2, quad2);
    store_quad(out + 3, quad3);
}

__attribute__((target("movdir64b"))) void store_movdir64b(Line* to, __m128i quad0, __m128i quad1,
                                                          __m128i quad2, __m128i quad3) {
    Line line;
    store_each(&line, quad0, quad1, quad2, quad3,
               [](__m128i* quad, __m128i value) { _mm_store_si128(quad, value); });
    _movdir64b(to, &line);
}

__attribute__((target("avx512f,movdir64b"))) void store_joined_movdir64b(Line* to, __m128i quad0,
                                                                         __m128i quad1,
                                                                         __m128i quad2,
                                                                         __m128i quad3) {
    Line line;
    _mm512_store_si512(&line, join(quad0, quad1, quad2, quad3));
    _movdir64b(to, &line);
}

__attribute__((target("avx512f"))) void store_avx512(Line* to, __m128i quad0, __m128i quad1,
                                                     __m128i quad2, __m128i quad3) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), join(quad0, quad1, quad2, quad3));
}

__attribute__((target("avx2"))) void store_avx2(Line* to, __m128i quad0, __m128i quad1,
                                                __m128i quad2, __m128i quad3) {
    auto* const out = reinterpret_cast<__m256i*>(to);
    _mm256_stream_si256(out, join(quad0, quad1));
    _mm256_stream_si256(out + 1, join(quad2, quad3));
}

// A line is composed in registers: what is put together in memory in small pieces and loaded as a
// whole has to wait until the pieces have left the store buffer.
__attribute__((target("avx512f"))) __m512i compose_avx512(void const* payload, Tag tag) {
    constexpr __mmask16 payload_words = 0x7777;
    return _mm512_mask_expandloadu_epi32(_mm512_set1_epi32(static_cast<int>(tag)), payload_words,
                                         payload);
}

__attribute__((target("avx512f"))) void store_payloads_avx512(Line* to, std::byte const* payload,
                                                              std::size_t count, Tag tag) {
    for (std::size_t i = 0; i < count; ++i, payload += payload_bytes) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), compose_avx512(payload, tag++));
    }
}

// Payload words 0 to 5 to the first half of the line, 6 to 11 to the second.
__attribute__((target("avx2"))) void store_payloads_avx2(Line* to, std::byte const* payload,
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

bool const has_avx512 = supported(StoreKind::avx512);

}  // namespace

void X86::store_payloads(StoreKind kind, Line* to, void const* payloads, std::size_t count,
                         Tag first) {
    auto const* payload = static_cast<std::byte const*>(payloads);
    if (kind == StoreKind::avx512) return store_payloads_avx512(to, payload, count, first);
    if (kind == StoreKind::avx2) return store_payloads_avx2(to, payload, count, first);
    for (std::size_t i = 0; i < count; ++i, payload += payload_bytes) {
        store_line(kind, to + i, pack_payload(payload, first + static_cast<Tag>(i)));
    }
}

void X86::store_quads(StoreKind kind, Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                      __m128i quad3) {
    switch (kind) {
        case StoreKind::movdir64b:
            return has_avx512 ? store_joined_movdir64b(to, quad0, quad1, quad2, quad3)
                              : store_movdir64b(to, quad0, quad1, quad2, quad3);
        case StoreKind::avx512:
            return store_avx512(to, quad0, quad1, quad2, quad3);
        case StoreKind::avx2:
            return store_avx2(to, quad0, quad1, quad2, quad3);
        case StoreKind::sse2:
            return store_each(to, quad0, quad1, quad2, quad3,
                              [](__m128i* quad, __m128i value) { _mm_stream_si128(quad, value); });
        case StoreKind::cached:
            return store_each(to, quad0, quad1, quad2, quad3, [](__m128i* quad, __m128i value) {
                cpu::store_quad(reinterpret_cast<Quad*>(quad), __builtin_bit_cast(Quad, value));
            });
    }
}

std::string_view to_string(StoreKind kind) {
    static constexpr std::array<std::string_view, 5> names{"cached", "sse2", "avx2", "avx512",
                                                           "movdir64b"};
    return names.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(PublishMode mode) {
    return mode == PublishMode::one_step ? "one-step" : "two-step";
}

bool supported(StoreKind kind) {
    switch (kind) {
        case StoreKind::movdir64b:
            return has_movdir64b();
        case StoreKind::avx512:
            return __builtin_cpu_supports("avx512f") != 0;
        case StoreKind::avx2:
            return __builtin_cpu_supports("avx2") != 0;
        default:
            return true;
    }
}

namespace {

// On these CPUs a 64-byte streaming store fills a write-combining buffer at once, so that none is
// ever evicted half full: they need not publish in two steps (measured: docs/guarantees.md).
bool avx512_store_is_whole() {
    return __builtin_cpu_is("intel") != 0 && supported(StoreKind::avx512);
}

}  // namespace

HostStores best_mapped_stores() {
    static HostStores const best = [] {
        if (supported(StoreKind::movdir64b)) {
            HostStores stores{StoreKind::movdir64b, PublishMode::one_step};
            if (avx512_store_is_whole()) stores.bulk = StoreKind::avx512;
            return stores;
        }
        for (StoreKind kind : {StoreKind::avx512, StoreKind::avx2}) {
            if (supported(kind)) return HostStores{kind, PublishMode::two_step};
        }
        return HostStores{StoreKind::sse2, PublishMode::two_step};
    }();
    return best;
}

}  // namespace carillon

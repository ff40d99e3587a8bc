// SPDX-License-Identifier: Apache-2.0
// The ways to store a line: one type each, in the order of StoreKind. To add one, name it there,
// write a type like these, and name it in AllStores. Types are internal to a source file, so that
// the compiler sees all callers of their functions.
//
// Such a type has
// - traits: what is known of it;
// - bulk_rank: of two that a CPU has, the greater is the faster for many lines in a row;
// - supported(): whether this CPU has it;
// - rows_leave_whole(): whether no line of a row that it stores leaves this CPU in pieces, so that
//   rows need no second step;
// - store(to, quads...): stores one line, which comes in registers;
// - copy_lines(to, from, count): copies whole lines, `to` aligned; not that of `cached`;
// and, if it has a way of its own,
// - store_payloads(to, payloads, count, tag): lines in a row, as X86::store_payloads.
#pragma once

#include <cpuid.h>
#include <immintrin.h>

#include <concepts>
#include <cstddef>

#include "carillon/detail/machine/cpu_atomics.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Calls store_quad(where, quad) for each quad of a line in registers, see X86::store_line.
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

namespace {

// For cached memory.
struct CachedStores {
    static constexpr StoreTraits traits{StoreKind::cached, "cached", "", 8, PublishMode::one_step};
    static constexpr int bulk_rank = 0;

    static bool supported() { return true; }
    static bool rows_leave_whole() { return false; }

    [[gnu::hot]] static void store(Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                                   __m128i quad3) {
        store_each(to, quad0, quad1, quad2, quad3, [](__m128i* quad, __m128i value) {
            cpu::store_quad(reinterpret_cast<Quad*>(quad), __builtin_bit_cast(Quad, value));
        });
    }
};

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

// Streaming stores of 64 bytes.
struct Avx512Stores {
    static constexpr StoreTraits traits{StoreKind::avx512, "avx512", "avx512f", 64,
                                        PublishMode::two_step};
    // Measured on a Xeon (Emerald Rapids), for each line: 3.5 ns by AVX-512, 6.4 to 8 by MOVDIR64B.
    static constexpr int bulk_rank = 4;

    static bool supported() { return __builtin_cpu_supports("avx512f") != 0; }
    // On these CPUs a 64-byte streaming store fills a write-combining buffer at once, so none is
    // ever evicted half full (measured: docs/dev/guarantees.md).
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

template <class Form>
concept StoresPayloads = requires {
    &Form::store_payloads;
};
template <class Form>
concept CopiesLines = requires {
    &Form::copy_lines;
};

template <class... Form>
struct StoreForms {
    static constexpr std::size_t count = sizeof...(Form);

    // Calls use(form) with the one of that kind, if it can be called so; returns whether it was.
    // Inlined, it is a switch.
    template <class Use>
    [[gnu::always_inline]] static bool with(StoreKind kind, Use&& use) {
        return (with_one<Form>(kind, use) || ...);
    }
    // Returns use(form...) of all, in their order.
    template <class Use>
    static constexpr auto all(Use&& use) {
        return use(Form()...);
    }

   private:
    template <class One, class Use>
    [[gnu::always_inline]] static bool with_one(StoreKind kind, Use& use) {
        if constexpr (std::invocable<Use&, One>) {
            if (kind != One::traits.kind) return false;
            use(One());
            return true;
        } else {
            return false;
        }
    }
};

using AllStores = StoreForms<CachedStores, Sse2Stores, Avx2Stores, Avx512Stores, Movdir64bStores>;

template <class Form>
constexpr bool copies = CopiesLines<Form> || Form::traits.kind == StoreKind::cached;
static_assert(AllStores::all([](auto... form) { return (copies<decltype(form)> && ...); }));

}  // namespace carillon::detail

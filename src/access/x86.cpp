// SPDX-License-Identifier: Apache-2.0
#include "carillon/access/x86.hpp"

#include <cpuid.h>
#include <immintrin.h>

#include <array>

#include "carillon/access/host_mapped.hpp"

namespace carillon {
namespace {

bool has_movdir64b() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 28)) != 0;
}

__attribute__((target("movdir64b"))) void store_movdir64b(Line* to, Line const& line) {
    _movdir64b(to, &line);
}

__attribute__((target("avx512f"))) void store_avx512(Line* to, Line const& line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to),
                        _mm512_load_si512(static_cast<void const*>(&line)));
}

__attribute__((target("avx2"))) void store_avx2(Line* to, Line const& line) {
    auto* out = reinterpret_cast<__m256i*>(to);
    auto const* in = reinterpret_cast<__m256i const*>(&line);
    __m256i const first = _mm256_load_si256(in);
    __m256i const second = _mm256_load_si256(in + 1);
    _mm256_stream_si256(out, first);
    _mm256_stream_si256(out + 1, second);
}

void store_sse2(Line* to, Line const& line) {
    auto* out = reinterpret_cast<__m128i*>(to);
    auto const* in = reinterpret_cast<__m128i const*>(&line);
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        _mm_stream_si128(out + i, _mm_load_si128(in + i));
    }
}

}  // namespace

void X86::store_line(StoreKind kind, Line* to, Line const& line) {
    switch (kind) {
        case StoreKind::movdir64b:
            return store_movdir64b(to, line);
        case StoreKind::avx512:
            return store_avx512(to, line);
        case StoreKind::avx2:
            return store_avx2(to, line);
        case StoreKind::sse2:
            return store_sse2(to, line);
        case StoreKind::cached:
            for (std::size_t i = 0; i < quads_per_line; ++i) {
                cpu::store_quad(&to->quads[i], line.quads[i]);
            }
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

HostStores best_mapped_stores() {
    static HostStores const best = [] {
        for (StoreKind kind : {StoreKind::movdir64b, StoreKind::avx512, StoreKind::avx2}) {
            if (supported(kind)) {
                return HostStores{kind, kind == StoreKind::movdir64b ? PublishMode::one_step
                                                                     : PublishMode::two_step};
            }
        }
        return HostStores{StoreKind::sse2, PublishMode::two_step};
    }();
    return best;
}

}  // namespace carillon

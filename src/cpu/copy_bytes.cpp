// SPDX-License-Identifier: Apache-2.0
#include "carillon/stream_copy.hpp"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "carillon/detail/wire/config.hpp"
#include "cpu/store_forms.hpp"

namespace carillon {
namespace {

constexpr std::size_t line = sizeof(detail::Line);

// The offset of `where` in its line.
std::size_t into_line(void const* where) { return reinterpret_cast<std::uintptr_t>(where) % line; }

// Stores bytes of one line, from the first to the last, in the largest aligned pieces: they meet in
// one write-combining buffer.
void copy_within_line(std::byte* to, std::byte const* from, std::size_t size) {
    constexpr std::size_t largest = 16;
    while (size != 0) {
        auto const alignment = reinterpret_cast<std::uintptr_t>(to) | largest;
        std::size_t const piece =
            std::min(std::size_t{1} << std::countr_zero(alignment), std::bit_floor(size));
        switch (piece) {
            case 16:
                _mm_store_si128(reinterpret_cast<__m128i*>(to),
                                _mm_loadu_si128(reinterpret_cast<__m128i const*>(from)));
                break;
            case 8:
                std::memcpy(to, from, 8);
                break;
            case 4:
                std::memcpy(to, from, 4);
                break;
            case 2:
                std::memcpy(to, from, 2);
                break;
            default:
                *to = *from;
        }
        to += piece;
        from += piece;
        size -= piece;
    }
}

void copy_lines(StoreKind kind, std::byte* to, std::byte const* from, std::size_t lines) {
    (void)detail::AllStores::with(
        kind, [&](detail::CopiesLines auto form) { form.copy_lines(to, from, lines); });
}

// Loads one whole line from any memory to ordinary memory. The four loads follow each other at
// once: the first brings the line across the bus, the others find it in the CPU's buffer.
__attribute__((target("sse4.1"))) void load_line(std::byte* to, std::byte const* from) {
    auto* const in = reinterpret_cast<__m128i*>(const_cast<std::byte*>(from));
    auto* const out = reinterpret_cast<__m128i*>(to);
    __m128i const first = _mm_stream_load_si128(in);
    __m128i const second = _mm_stream_load_si128(in + 1);
    __m128i const third = _mm_stream_load_si128(in + 2);
    __m128i const fourth = _mm_stream_load_si128(in + 3);
    _mm_storeu_si128(out, first);
    _mm_storeu_si128(out + 1, second);
    _mm_storeu_si128(out + 2, third);
    _mm_storeu_si128(out + 3, fourth);
}

// Loads `size` bytes of the line that `from` points into.
void load_part(std::byte* to, std::byte const* from, std::size_t size) {
    alignas(line) std::byte whole[line];
    std::size_t const skipped = into_line(from);
    load_line(whole, from - skipped);
    std::memcpy(to, whole + skipped, size);
}

}  // namespace

void stream_load(void* where, void const* there, std::size_t size) noexcept {
    if (CARILLON_THREAD_SANITIZER != 0) {  // it does not see streaming loads
        if (size != 0) std::memcpy(where, there, size);
        return;
    }
    if (size == 0) return;
    auto* to = static_cast<std::byte*>(where);
    auto const* from = static_cast<std::byte const*>(there);
    // A buffer that was filled before others wrote may serve a streaming load, and the load must
    // not overtake this thread's own streaming stores.
    _mm_mfence();
    if (into_line(from) != 0) {
        std::size_t const head = std::min(size, line - into_line(from));
        load_part(to, from, head);
        to += head;
        from += head;
        size -= head;
    }
    for (; size >= line; size -= line, to += line, from += line) load_line(to, from);
    if (size != 0) load_part(to, from, size);
}

void stream_copy(StoreKind kind, void* to, void const* from, std::size_t size) noexcept {
    // The thread sanitizer does not see streaming stores.
    if (kind == StoreKind::cached || CARILLON_THREAD_SANITIZER != 0) {
        if (size != 0) std::memcpy(to, from, size);
        return;
    }
    auto* out = static_cast<std::byte*>(to);
    auto const* in = static_cast<std::byte const*>(from);
    if (into_line(out) != 0) [[unlikely]] {
        std::size_t const head = std::min(size, line - into_line(out));
        copy_within_line(out, in, head);
        out += head;
        in += head;
        size -= head;
    }
    std::size_t const lines = size / line;
    if (lines != 0) copy_lines(kind, out, in, lines);
    copy_within_line(out + lines * line, in + lines * line, size % line);
}

}  // namespace carillon

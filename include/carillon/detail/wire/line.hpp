// SPDX-License-Identifier: Apache-2.0
// The line: 64 bytes that say for themselves that they have arrived.
//
//   byte   0            12    16           28    32           44    48           60    64
//          | payload 0  | tag | payload 1  | tag | payload 2  | tag | payload 3  | tag |
//          '----- quad 0 -----'----- quad 1 -----'----- quad 2 -----'----- quad 3 -----'
//
// A line has arrived when all four tags are the awaited one. Nothing is assumed of the order in
// which quads arrive; what is relied on is only that a quad, 16 aligned bytes, is never torn
// (docs/guarantees.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"

#if !defined(__CUDA_ARCH__)
#include "carillon/detail/wire/x86_payload.hpp"
#endif

namespace carillon {

// The low 32 bits of a line's sequence number.
using Tag = std::uint32_t;
// Lines are numbered from 1; the number of a line never repeats, its tag does after 2^32 lines.
using Sequence = std::uint64_t;

inline constexpr std::size_t quads_per_line = 4;
inline constexpr std::size_t payload_words_per_quad = 3;
inline constexpr std::size_t payload_bytes = 48;

// low = payload words 0 and 1; high = payload word 2 and, in its upper half, the tag.
struct alignas(16) Quad {
    std::uint64_t low;
    std::uint64_t high;

    [[nodiscard]] CARILLON_HD constexpr Tag tag() const { return static_cast<Tag>(high >> 32); }
};

struct alignas(64) Line {
    Quad quads[quads_per_line];
};

static_assert(sizeof(Quad) == 16);
static_assert(alignof(Quad) == 16);
static_assert(offsetof(Quad, high) == 8);
static_assert(sizeof(Line) == 64);
static_assert(alignof(Line) == 64);
static_assert(std::is_trivially_copyable_v<Line>);

// The compile-time contract of a message type; the text is what the user sees. A type of ours that
// wraps the user's has a contract of its own, which speaks of that.
template <class T>
CARILLON_HD constexpr void check_payload() {
    if constexpr (requires { T::check_payload(); }) {
        T::check_payload();
    } else {
        static_assert(std::is_trivially_copyable_v<T>,
                      "carillon: a message type must be trivially copyable: its bytes cross a bus");
        static_assert(sizeof(T) <= payload_bytes,
                      "carillon: a message type must be at most 48 bytes: it travels in one line");
    }
}

[[nodiscard]] CARILLON_HD constexpr Tag tag_of(Sequence sequence) {
    return static_cast<Tag>(sequence);
}

// Without a branch between the four: one comparison decides.
[[nodiscard]] CARILLON_HD constexpr bool has_arrived(Line const& line, Tag tag) {
    return ((line.quads[0].tag() ^ tag) | (line.quads[1].tag() ^ tag) |
            (line.quads[2].tag() ^ tag) | (line.quads[3].tag() ^ tag)) == 0;
}

// The same payload under another tag.
[[nodiscard]] CARILLON_HD constexpr Line with_tag(Line line, Tag tag) {
    for (Quad& quad : line.quads) {
        quad.high = (quad.high & 0xffffffffU) | (std::uint64_t{tag} << 32);
    }
    return line;
}

namespace detail {

struct PayloadWords {
    std::uint32_t word[quads_per_line * payload_words_per_quad];
};
static_assert(sizeof(PayloadWords) == payload_bytes);

// The bytes of a T, in words where they are whole ones: a GPU has no cheap way with bytes.
template <class T, bool whole_words = sizeof(T) % sizeof(std::uint32_t) == 0>
struct BytesOf {
    std::uint32_t word[sizeof(T) / sizeof(std::uint32_t)];
};
template <class T>
struct BytesOf<T, false> {
    unsigned char byte[sizeof(T)];
};

}  // namespace detail

// Three payload words as a quad with `tag`.
[[nodiscard]] CARILLON_HD constexpr Quad pack_quad(std::uint32_t const* word, Tag tag) {
    return {word[0] | (std::uint64_t{word[1]} << 32), word[2] | (std::uint64_t{tag} << 32)};
}

// Lays `message` out as a line with `tag`. Bytes of the payload beyond sizeof(T) are zero.
template <class T>
[[nodiscard]] CARILLON_HD Line pack(T const& message, Tag tag) {
    check_payload<T>();
#if !defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == payload_bytes) {
        return __builtin_bit_cast(Line, x86::lay_out(__builtin_addressof(message), tag));
    }
#endif
    detail::PayloadWords words{};
    auto const bytes = __builtin_bit_cast(detail::BytesOf<T>, message);
    std::memcpy(&words, &bytes, sizeof(T));
#if !defined(__CUDA_ARCH__)
    return __builtin_bit_cast(Line, x86::lay_out(&words, tag));
#else
    Line line;
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        line.quads[i] = pack_quad(words.word + i * payload_words_per_quad, tag);
    }
    return line;
#endif
}

// The same for a payload of 48 bytes that lies in memory, anywhere.
[[nodiscard]] CARILLON_HD inline Line pack_payload(void const* payload, Tag tag) {
#if !defined(__CUDA_ARCH__)
    return __builtin_bit_cast(Line, x86::lay_out(payload, tag));
#else
    detail::PayloadWords words;
    std::memcpy(&words, payload, sizeof(words));
    return pack(words, tag);
#endif
}

// The message that pack() laid out; the tags are ignored.
template <class T>
[[nodiscard]] CARILLON_HD T unpack(Line const& line) {
    check_payload<T>();
#if !defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == payload_bytes) {
        return __builtin_bit_cast(T, x86::payload_of(__builtin_bit_cast(x86::Quads, line)));
    }
#endif
    detail::PayloadWords words;
    for (std::size_t i = 0; i < quads_per_line; ++i) {
        std::uint32_t* word = words.word + i * payload_words_per_quad;
        word[0] = static_cast<std::uint32_t>(line.quads[i].low);
        word[1] = static_cast<std::uint32_t>(line.quads[i].low >> 32);
        word[2] = static_cast<std::uint32_t>(line.quads[i].high);
    }
    detail::BytesOf<T> bytes;
    std::memcpy(&bytes, &words, sizeof(T));
    return __builtin_bit_cast(T, bytes);
}

}  // namespace carillon

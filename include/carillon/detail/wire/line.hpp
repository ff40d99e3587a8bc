// SPDX-License-Identifier: Apache-2.0
// The line, in which all messages travel: 64 bytes whose tags tell that they have arrived.
//
//   byte   0            12    16           28    32           44    48           60    64
//          | payload 0  | tag | payload 1  | tag | payload 2  | tag | payload 3  | tag |
//          '----- quad 0 -----'----- quad 1 -----'----- quad 2 -----'----- quad 3 -----'
//
// A message has arrived when all of its quads have the awaited tag. Quads may arrive in any order.
// The protocol relies only on a quad, 16 aligned bytes, never being torn (docs/dev/guarantees.md).
//
// A message fills as many quads of 12 bytes as it needs, in lines in a row, all with the same tag.
// Further quads are not read, and not stored if that would cost time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"  // IWYU pragma: export

#if !defined(__CUDA_ARCH__)
#include <utility>

#include "carillon/detail/wire/x86_payload.hpp"
#endif

namespace carillon::detail {

// The low 32 bits of a line's sequence number.
using Tag = std::uint32_t;
// Lines are numbered from 1; the number of a line never repeats, its tag does after 2^32 lines.
using Sequence = std::uint64_t;

inline constexpr std::size_t quads_per_line = 4;
inline constexpr std::size_t payload_words_per_quad = 3;
inline constexpr std::size_t payload_bytes = 48;  // the payload of a line
inline constexpr std::size_t payload_bytes_per_quad = 12;
inline constexpr std::size_t message_bytes = 1024;  // the largest message

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

// The compile-time contract of a message type; users see the texts. A type of the library that
// wraps the user's type has its own contract, whose texts name the user's type.
template <class T>
CARILLON_HD constexpr void check_payload() {
    if constexpr (requires { T::check_payload(); }) {
        T::check_payload();
    } else {
        static_assert(!std::is_array_v<T>,
                      "carillon: a message cannot be an array: put it into a struct");
        static_assert(std::is_trivially_copyable_v<T>,
                      "carillon: a message type must be trivially copyable: its bytes cross a bus");
        static_assert(sizeof(T) <= message_bytes,
                      "carillon: a message type must be at most 1024 bytes: send more through a "
                      "ChunkRing, or keep it in memory that the message points to (OutOfLine)");
    }
}

[[nodiscard]] CARILLON_HD constexpr Tag tag_of(Sequence sequence) {
    return static_cast<Tag>(sequence);
}

// The number of quads that a T fills, and of lines for them.
template <class T>
inline constexpr std::size_t quads_of =
    (sizeof(T) + payload_bytes_per_quad - 1) / payload_bytes_per_quad;
template <class T>
inline constexpr std::size_t lines_of = (quads_of<T> + quads_per_line - 1) / quads_per_line;

// The lines of one message.
template <std::size_t count>
struct Lines {
    Line line[count];
};

// A T as laid out by pack().
template <class T>
using Packed = std::conditional_t<lines_of<T> == 1, Line, Lines<lines_of<T>>>;

// The lines of a slot of a ring of T: a power of two, so that no slot straddles a page.
template <class T>
inline constexpr std::uint32_t slot_lines_of =
    std::bit_ceil(static_cast<std::uint32_t>(lines_of<T>));

// The lines of a message, from the first; and the number of quads that it fills in line i.
template <class P>
[[nodiscard]] CARILLON_HD constexpr auto* lines_in(P& packed) {
    if constexpr (std::is_same_v<std::remove_cv_t<P>, Line>) {
        return &packed;
    } else {
        return packed.line;
    }
}
template <class T>
[[nodiscard]] CARILLON_HD constexpr std::size_t quads_in_line(std::size_t i) {
    return i + 1 < lines_of<T> ? quads_per_line : quads_of<T> - i * quads_per_line;
}

// The bits in which the tags of the first `quads` quads differ from `tag`.
[[nodiscard]] CARILLON_HD constexpr Tag tag_difference(Line const& line, Tag tag,
                                                       std::size_t quads) {
    Tag difference = 0;
    for (std::size_t i = 0; i < quads; ++i) difference |= line.quads[i].tag() ^ tag;
    return difference;
}

// Whether the first `quads` quads have arrived, decided by one comparison without branches. All
// tags are compared with the last one, which was loaded last: otherwise ptxas may compute with the
// others between the loads, and the last load then waits for them (nvcc 13.0, sm_90: 200 ns on a
// round trip).
[[nodiscard]] CARILLON_HD constexpr bool has_arrived(Line const& line, Tag tag,
                                                     std::size_t quads = quads_per_line) {
    Tag const last = line.quads[quads - 1].tag();
    return (tag_difference(line, last, quads - 1) | (last ^ tag)) == 0;
}

// The payload of `line` under another tag.
[[nodiscard]] CARILLON_HD constexpr Line with_tag(Line const& line, Tag tag) {
    Line tagged = line;  // not a parameter by value: GCC warns of its alignment
    for (Quad& quad : tagged.quads) {
        quad.high = (quad.high & 0xffffffffU) | (std::uint64_t{tag} << 32);
    }
    return tagged;
}
template <std::size_t count>
[[nodiscard]] CARILLON_HD constexpr Lines<count> with_tag(Lines<count> const& lines, Tag tag) {
    Lines<count> tagged = lines;
    for (Line& line : tagged.line) line = with_tag(line, tag);
    return tagged;
}

// The payload of consecutive lines, and of one.
template <std::size_t lines>
struct MessageWords {
    std::uint32_t word[lines * quads_per_line * payload_words_per_quad];
};
using PayloadWords = MessageWords<1>;
static_assert(sizeof(PayloadWords) == payload_bytes);

// The bytes of a T, as words if they are whole ones, because byte accesses are slow on a GPU.
template <class T, bool whole_words = sizeof(T) % sizeof(std::uint32_t) == 0>
struct BytesOf {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    std::uint32_t word[sizeof(T) / sizeof(std::uint32_t)];
};
template <class T>
struct BytesOf<T, false> {
    unsigned char byte[sizeof(T)];
};

// Three payload words as a quad with `tag`.
[[nodiscard]] CARILLON_HD constexpr Quad pack_quad(std::uint32_t const* word, Tag tag) {
    return {word[0] | (std::uint64_t{word[1]} << 32), word[2] | (std::uint64_t{tag} << 32)};
}

// The payload words of a quad.
CARILLON_HD constexpr void unpack_quad(std::uint32_t* word, Quad const& quad) {
    word[0] = static_cast<std::uint32_t>(quad.low);
    word[1] = static_cast<std::uint32_t>(quad.low >> 32);
    word[2] = static_cast<std::uint32_t>(quad.high);
}

#if !defined(__CUDA_ARCH__)
// Lays out `bytes` bytes of memory in lines, and back. Only a partial line is copied on the way.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // padding that nobody has written is copied, too
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
template <std::size_t bytes>
void lay_out_lines(Line* lines, void const* message, Tag tag) {
    constexpr std::size_t whole = bytes / payload_bytes;
    auto const* const from = static_cast<std::byte const*>(message);
    for (std::size_t i = 0; i < whole; ++i) {
        lines[i] = __builtin_bit_cast(Line, x86::lay_out(from + i * payload_bytes, tag));
    }
    if constexpr (bytes % payload_bytes != 0) {
        PayloadWords rest{};
        std::memcpy(&rest, from + whole * payload_bytes, bytes % payload_bytes);
        lines[whole] = __builtin_bit_cast(Line, x86::lay_out(&rest, tag));
    }
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
template <std::size_t bytes>
void payload_of_lines(void* message, Line const* lines) {
    constexpr std::size_t whole = bytes / payload_bytes;
    auto* const to = static_cast<std::byte*>(message);
    for (std::size_t i = 0; i < whole; ++i) {
        auto const payload = x86::payload_of(__builtin_bit_cast(x86::Quads, lines[i]));
        std::memcpy(to + i * payload_bytes, &payload, payload_bytes);
    }
    if constexpr (bytes % payload_bytes != 0) {  // only quads that it fills
        constexpr std::size_t rest_bytes = bytes % payload_bytes;
        PayloadWords rest;
        for (std::size_t i = 0; i * payload_bytes_per_quad < rest_bytes; ++i) {
            unpack_quad(rest.word + i * payload_words_per_quad, lines[whole].quads[i]);
        }
        std::memcpy(to + whole * payload_bytes, &rest, rest_bytes);
    }
}

template <class T>
using EachByte = BytesOf<T, false>;
template <class T>
constexpr bool is_zero(EachByte<T> const& of) {
    for (unsigned char const byte : of.byte) {
        if (byte != 0) return false;
    }
    return true;
}
// Whether zero bytes that become a T and bytes again are known at compile time: true unless T has
// padding, pointers or unions.
template <class T>
concept StaysBytes = std::is_trivially_copyable_v<T> && requires {
    typename std::bool_constant<is_zero<T>(
        __builtin_bit_cast(EachByte<T>, __builtin_bit_cast(T, EachByte<T>{})))>;
};
template <class T>
constexpr bool is_there(T const& /*value*/) {
    return true;
}
template <class T>
concept MadeOfBytes = std::is_trivially_copyable_v<T> && requires {
    typename std::bool_constant<is_there<T>(__builtin_bit_cast(T, EachByte<T>{}))>;
};
template <class T, std::size_t i>
concept StaysByte = requires {
    typename std::bool_constant<(
        __builtin_bit_cast(EachByte<T>, __builtin_bit_cast(T, EachByte<T>{})).byte[i] == 0)>;
};

// Whether padding in a T is cleared before others may read it; not for a T with pointers or unions.
template <class T>
inline constexpr bool clears_padding =
    !std::has_unique_object_representations_v<T> && !StaysBytes<T> && MadeOfBytes<T>;

// Bit `bit` of byte `i` of `bytes` bytes; all other bits are padding.
enum class Beside : std::uint8_t { below, above };  // two empty members of one type take a byte
template <std::size_t bytes, Beside where>
struct Holes {
    Holes<bytes / 2, where> low;
    Holes<bytes - bytes / 2, where> high;
};
template <Beside where>
struct Holes<1, where> {
    unsigned char : 8;
};
template <Beside where>
struct Holes<0, where> {};
template <std::size_t bit>
struct BitOfByte {
    unsigned char : bit;
    unsigned char is : 1;
};
template <>
struct BitOfByte<0> {
    unsigned char is : 1;
};
template <std::size_t bytes, std::size_t i, std::size_t bit>
struct OneBit {
    [[no_unique_address]] Holes<i, Beside::below> below;
    BitOfByte<bit> at;
    [[no_unique_address]] Holes<bytes - 1 - i, Beside::above> above;
};
template <class T, std::size_t i, std::size_t bit>
concept StaysBit = requires {
    typename std::bool_constant<(
        __builtin_bit_cast(OneBit<sizeof(T), i, bit>, __builtin_bit_cast(T, EachByte<T>{})).at.is ==
        0)>;
};
// The bits of a byte that are not padding: only some of them in a byte with bit-fields.
template <class T, std::size_t i, std::size_t... bit>
constexpr unsigned char kept_bits(std::index_sequence<bit...> /*bits*/) {
    if constexpr (StaysByte<T, i>) {
        return 0xff;
    } else {
        return static_cast<unsigned char>(((StaysBit<T, i, bit> ? 1U << bit : 0U) | ...));
    }
}

// All ones in the bits of a T that are not padding. It does not use __builtin_clear_padding,
// because GCC 12's clears too much in a struct with an array of padded structs before other
// members.
template <class T, std::size_t... i>
constexpr EachByte<T> kept_bytes(std::index_sequence<i...> /*indices*/) {
    return {{kept_bits<T, i>(std::make_index_sequence<8>())...}};
}

// The bytes of `message` with zeros in its padding, or the message itself.
template <class T>
[[nodiscard]] CARILLON_HD decltype(auto) without_padding(T const& message) {
    if constexpr (clears_padding<T>) {
        constexpr auto kept = kept_bytes<T>(std::make_index_sequence<sizeof(T)>());
        auto bytes = __builtin_bit_cast(EachByte<T>, message);
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bytes.byte[i] = static_cast<unsigned char>(bytes.byte[i] & kept.byte[i]);
        }
        return bytes;
    } else {
        return (message);
    }
}
#else
template <class T>
inline constexpr bool clears_padding = false;
template <class T>
CARILLON_HD T const& without_padding(T const& message) {
    return message;
}
#endif

// Lays `message` out in lines with `tag`. Payload bytes beyond sizeof(T) are zero. On the CPU,
// padding in T is zero too, because others may read it.
template <class T>
[[nodiscard]] CARILLON_HD Packed<T> pack(T const& message, Tag tag) {
    check_payload<T>();
#if !defined(__CUDA_ARCH__)
    Packed<T> packed;
    auto const& clean = detail::without_padding(message);
    detail::lay_out_lines<sizeof(T)>(lines_in(packed), __builtin_addressof(clean), tag);
#else
    MessageWords<lines_of<T>> words{};
    auto const bytes = __builtin_bit_cast(BytesOf<T>, message);
    std::memcpy(&words, &bytes, sizeof(T));
    Packed<T> packed;
    Line* const line = lines_in(packed);
    for (std::size_t i = 0; i < lines_of<T>; ++i) {
        std::uint32_t const* const word = words.word + i * quads_per_line * payload_words_per_quad;
        for (std::size_t quad = 0; quad < quads_per_line; ++quad) {
            line[i].quads[quad] = pack_quad(word + quad * payload_words_per_quad, tag);
        }
    }
#endif
    return packed;
}

// Lays out a payload of 48 bytes at any address.
[[nodiscard]] CARILLON_HD inline Line pack_payload(void const* payload, Tag tag) {
#if !defined(__CUDA_ARCH__)
    return __builtin_bit_cast(Line, x86::lay_out(payload, tag));
#else
    PayloadWords words;
    std::memcpy(&words, payload, sizeof(words));
    return pack(words, tag);
#endif
}

// The message that pack() laid out; the tags are ignored.
template <class T>
[[nodiscard]] CARILLON_HD T unpack(Packed<T> const& packed) {
    check_payload<T>();
    Line const* const line = lines_in(packed);
    BytesOf<T> bytes;
#if !defined(__CUDA_ARCH__)
    detail::payload_of_lines<sizeof(T)>(&bytes, line);
#else
    MessageWords<lines_of<T>> words;
    for (std::size_t i = 0; i < quads_of<T>; ++i) {
        detail::unpack_quad(words.word + i * payload_words_per_quad,
                            line[i / quads_per_line].quads[i % quads_per_line]);
    }
    std::memcpy(&bytes, &words, sizeof(T));
#endif
    return __builtin_bit_cast(T, bytes);
}

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The part of a log message that a block sends: a number for its text and its arguments' kinds, and
// the unformatted arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// A text as a template argument.
template <std::size_t size>
struct LogText {
    char text[size]{};

    // Not explicit, so that log<"a text"> works.
    constexpr LogText(char const (&literal)[size]) {  // NOLINT(google-explicit-constructor)
        for (std::size_t i = 0; i < size; ++i) text[i] = literal[i];
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
};

inline constexpr std::size_t log_arguments = 4;

// The 48 bytes that cross the bus.
struct LogMessage {
    std::uint32_t id;               // of text and kinds
    std::uint32_t block_and_level;  // the level in the two highest bits
    std::uint64_t time_ns;
    std::uint64_t arguments[log_arguments];
};
static_assert(sizeof(LogMessage) == payload_bytes);

inline constexpr unsigned log_level_shift = 30;

// The kind of an argument's 8 bytes: 'b', a bool; 'c', a char; 'i' and 'u', integers; 'f', a double
// that was a float, and 'd', any other.
template <class T>
CARILLON_HD constexpr char log_kind() {
    static_assert(std::is_arithmetic_v<T>,
                  "carillon: a log argument must be an integer, a bool or a floating-point number");
    if constexpr (std::is_same_v<T, bool>) return 'b';
    if constexpr (std::is_same_v<T, char>) return 'c';
    if constexpr (std::is_same_v<T, float>) return 'f';
    if constexpr (std::is_floating_point_v<T>) return 'd';
    return std::is_signed_v<T> ? 'i' : 'u';
}

template <class T>
[[nodiscard]] CARILLON_HD std::uint64_t log_word(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return __builtin_bit_cast(std::uint64_t, static_cast<double>(value));
    } else {
        return static_cast<std::uint64_t>(value);  // extends the sign where there is one
    }
}

// FNV-1a of 32 bits.
CARILLON_HD constexpr std::uint32_t log_hash(char const* text, std::size_t size,
                                             std::uint32_t hash = 0x811c9dc5U) {
    for (std::size_t i = 0; i < size; ++i) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x01000193U;
    }
    return hash;
}

// Counts the {} and {:...} in a text, in which {{ and }} stand for braces.
CARILLON_HD constexpr std::size_t log_placeholders(char const* text, std::size_t size) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (text[i] != '{') continue;
        if (i + 1 < size && text[i + 1] == '{') {
            ++i;
        } else {
            ++count;
        }
    }
    return count;
}

// Whether a {} stands within another, like a width that is an argument.
CARILLON_HD constexpr bool log_nests(char const* text, std::size_t size) {
    bool inside = false;
    for (std::size_t i = 0; i < size; ++i) {
        bool const doubled = i + 1 < size && text[i + 1] == text[i];
        if (inside) {
            if (text[i] == '{') return true;
            inside = text[i] != '}';
        } else if (text[i] == '{' && doubled) {
            ++i;
        } else {
            inside = text[i] == '{';
        }
    }
    return false;
}

// The constants of a call of log().
template <LogText text, class... Arguments>
struct LogSite {
    static constexpr std::size_t length = sizeof(text.text) - 1;
    static constexpr char kinds[sizeof...(Arguments) + 1] = {log_kind<Arguments>()..., '\0'};
    static constexpr std::uint32_t id = log_hash(kinds, sizeof(kinds), log_hash(text.text, length));

    static_assert(sizeof...(Arguments) <= log_arguments,
                  "carillon: a log message has at most 4 arguments: it travels in one line");
    static_assert(log_placeholders(text.text, length) == sizeof...(Arguments),
                  "carillon: a log text has a {} for each argument");
    static_assert(!log_nests(text.text, length),
                  "carillon: a log text's widths and precisions are not arguments: a kernel could "
                  "ask for gigabytes of spaces");
};

}  // namespace carillon::detail

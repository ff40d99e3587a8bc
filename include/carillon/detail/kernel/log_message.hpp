// SPDX-License-Identifier: Apache-2.0
// Log messages, for the two ends of a log: a block sends a number for the text and the kinds of its
// arguments, and the unformatted arguments; the texts stay on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "carillon/detail/wire/line.hpp"

namespace carillon {
struct LogRecord;
}  // namespace carillon

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
    std::uint32_t id;               // identifies the text and kinds
    std::uint32_t block_and_level;  // the level in the two highest bits
    std::uint64_t time_ns;
    std::uint64_t arguments[log_arguments];
};
static_assert(sizeof(LogMessage) == payload_bytes);

inline constexpr unsigned log_level_shift = 30;

// The kind of an argument's 8 bytes: 'b', a bool; 'c', a char; 'i' and 'u', integers; 'f', a double
// made from a float; 'd', any other double.
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
        return static_cast<std::uint64_t>(value);  // extends the sign, if any
    }
}

// FNV-1a, 32 bits.
CARILLON_HD constexpr std::uint32_t log_hash(char const* text, std::size_t size,
                                             std::uint32_t hash = 0x811c9dc5U) {
    for (std::size_t i = 0; i < size; ++i) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x01000193U;
    }
    return hash;
}

inline constexpr std::size_t nested_placeholders = ~std::size_t{0};

// Counts the {} and {:...} in a text, in which {{ and }} stand for braces. Returns
// nested_placeholders if one stands within another, such as a width that is an argument.
CARILLON_HD constexpr std::size_t log_placeholders(char const* text, std::size_t size) {
    std::size_t count = 0;
    bool inside = false;
    for (std::size_t i = 0; i < size; ++i) {
        bool const opens = text[i] == '{';
        if (inside) {
            if (opens) return nested_placeholders;
            inside = text[i] != '}';
        } else if (opens && i + 1 < size && text[i + 1] == '{') {
            ++i;
        } else if (opens) {
            inside = true;
            ++count;
        }
    }
    return count;
}

// The constants of a call of log().
template <LogText text, class... Arguments>
struct LogSite {
    static constexpr std::size_t length = sizeof(text.text) - 1;
    static constexpr char kinds[sizeof...(Arguments) + 1] = {log_kind<Arguments>()..., '\0'};
    static constexpr std::uint32_t id = log_hash(kinds, sizeof(kinds), log_hash(text.text, length));

    static_assert(sizeof...(Arguments) <= log_arguments,
                  "carillon: a log message has at most 4 arguments: it travels in one line");
    static constexpr std::size_t placeholders = log_placeholders(text.text, length);
    static_assert(placeholders == sizeof...(Arguments) || placeholders == nested_placeholders,
                  "carillon: a log text needs a {} for each argument");
    static_assert(placeholders != nested_placeholders,
                  "carillon: a log text's widths and precisions cannot be arguments: a kernel "
                  "could request gigabytes of spaces");
};

// Maps ids to texts.
class LogRegistry {
   public:
    struct Entry {
        std::string text;
        std::string kinds;
        bool operator==(Entry const&) const = default;
    };

    // The registry of this program: each log() registers its text before main().
    [[nodiscard]] static LogRegistry& of_program();

    // Returns true.
    bool add(std::uint32_t id, Entry const& entry);
    [[nodiscard]] std::optional<Entry> find(std::uint32_t id) const;
    // Throws UsageError if two texts have the same id, or if a text cannot be formatted.
    void require_sound() const;

   private:
    std::map<std::uint32_t, Entry> entries_;
    std::string collision_;  // the first collision; empty for none
};

// The text of a message with its arguments, or a description of its fault.
[[nodiscard]] std::string log_text(LogRegistry const& registry, LogMessage const& message);
// Formats `carillon: [block 3, 12.345678901] text`, with a level other than info before the text.
[[nodiscard]] std::string log_line(LogRecord const& record);

// Registers a text at the program's start, if the program uses this member.
template <LogText text, class... Arguments>
struct LogRegistered {
    using Site = LogSite<text, Arguments...>;
    static inline bool const registration =
        LogRegistry::of_program().add(Site::id, {std::string(text.view()), Site::kinds});
};

}  // namespace carillon::detail

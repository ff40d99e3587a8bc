// SPDX-License-Identifier: Apache-2.0
// Members of a message as bytes. The writer and the reader have the same members, so that one list
// of a message's fields, with what each may be, stands for both directions.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "carillon/error.hpp"

namespace carillon::detail {

static_assert(std::endian::native == std::endian::little);

// Texts and names lie in `room` bytes, the last of which is zero at least.

class WireWriter {
   public:
    // `message`: what errors call it.
    WireWriter(std::string_view message, std::vector<std::byte>& into)
        : message_(message), into_(into) {}

    template <class T>
    requires std::is_arithmetic_v<T>
    void raw(std::string_view /*field*/, T const& value) {
        into_.resize(into_.size() + sizeof(T));
        std::memcpy(into_.data() + into_.size() - sizeof(T), &value, sizeof(T));
    }
    void characters(std::string_view field, std::string& value, std::size_t room);
    // Makes all its characters fit to be sent.
    static void clean(std::string& text);

    [[noreturn]] void fail(std::string_view field, std::string_view why) const {
        throw UsageError(fmt::format("{}: {}: {}", message_, field, why));
    }

   private:
    std::string_view message_;
    std::vector<std::byte>& into_;
};

class WireReader {
   public:
    WireReader(std::string_view message, std::span<std::byte const> from)
        : message_(message), rest_(from) {}

    template <class T>
    requires std::is_arithmetic_v<T>
    void raw(std::string_view field, T& value) {
        std::memcpy(&value, next(field, sizeof(T)).data(), sizeof(T));
    }
    void characters(std::string_view field, std::string& value, std::size_t room);
    static void clean(std::string& /*text*/) {}
    // Checks that there is no more.
    void end() const {
        if (!rest_.empty()) fail("size", fmt::format("{} bytes too many", rest_.size()));
    }

    [[noreturn]] void fail(std::string_view field, std::string_view why) const {
        throw ProtocolError(fmt::format("{}: {}: {}", message_, field, why));
    }

   private:
    std::span<std::byte const> next(std::string_view field, std::size_t size) {
        if (rest_.size() < size) fail(field, "the message ends inside this field");
        auto const bytes = rest_.first(size);
        rest_ = rest_.subspan(size);
        return bytes;
    }

    std::string_view message_;
    std::span<std::byte const> rest_;
};

// The place of the first byte, from `from` on, that no name or text may have, or npos: the byte of
// a control character, or one that is not UTF-8.
[[nodiscard]] std::size_t unprintable(std::string_view text, std::size_t from = 0);

// The beginning that has `longest` bytes at most. No character of several bytes (UTF-8) is cut in
// two.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t longest);

template <class T>
void wire_number(auto& wire, std::string_view field, T& value, std::type_identity_t<T> least,
                 std::type_identity_t<T> most) {
    wire.raw(field, value);
    if (value >= least && value <= most) return;
    wire.fail(field, fmt::format("{} is not from {} to {}", value, least, most));
}

template <class T>
void wire_power_of_two(auto& wire, std::string_view field, T& value, std::type_identity_t<T> least,
                       std::type_identity_t<T> most) {
    wire_number(wire, field, value, least, most);
    if (!std::has_single_bit(value))
        wire.fail(field, fmt::format("{} is not a power of two", value));
}

void wire_flag(auto& wire, std::string_view field, bool& value) {
    std::uint8_t byte = value ? 1 : 0;
    wire_number(wire, field, byte, 0, 1);
    value = byte != 0;
}

template <class Enumeration>
void wire_enumerator(auto& wire, std::string_view field, Enumeration& value, Enumeration least,
                     Enumeration most) {
    static_assert(std::is_same_v<std::underlying_type_t<Enumeration>, std::uint8_t>);
    auto byte = static_cast<std::uint8_t>(value);
    wire_number(wire, field, byte, static_cast<std::uint8_t>(least),
                static_cast<std::uint8_t>(most));
    value = static_cast<Enumeration>(byte);
}

// A text for people may be empty.
void wire_text(auto& wire, std::string_view field, std::string& value, std::size_t longest) {
    wire.clean(value);
    wire.characters(field, value, longest + 1);
    std::size_t const wrong = unprintable(value);
    if (wrong == std::string::npos) return;
    wire.fail(field, fmt::format("byte {}, {:#04x}, is a control character or not UTF-8", wrong,
                                 static_cast<unsigned char>(value[wrong])));
}

void wire_name(auto& wire, std::string_view field, std::string& value, std::size_t longest) {
    if (unprintable(value) != std::string::npos) {
        wire.fail(field, "the name has a control character or is not UTF-8");
    }
    wire_text(wire, field, value, longest);
    if (value.empty()) wire.fail(field, "the name is empty");
}

}  // namespace carillon::detail

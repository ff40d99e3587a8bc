// SPDX-License-Identifier: Apache-2.0
#include "serving/message_fields.hpp"

namespace carillon::detail {
namespace {

bool is_from(unsigned char byte, unsigned least, unsigned most) {
    return byte >= least && byte <= most;
}

// The bytes of the UTF-8 character at the beginning of `text`; 0 where none is, and for a control
// character: a terminal obeys it, U+0080 to U+009F too.
std::size_t character_at(std::string_view text) {
    auto const byte = [&](std::size_t i) {
        return static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
    };
    unsigned char const first = byte(0);
    if (first < 0x80) return is_from(first, 0x20, 0x7e) ? 1 : 0;
    if (first == 0xc2) return is_from(byte(1), 0xa0, 0xbf) ? 2 : 0;
    if (is_from(first, 0xc3, 0xdf)) return is_from(byte(1), 0x80, 0xbf) ? 2 : 0;
    bool const tail = is_from(byte(2), 0x80, 0xbf);
    // A character is not longer than it need be, nor half of a pair of UTF-16, nor above U+10FFFF.
    if (is_from(first, 0xe0, 0xef)) {
        unsigned const least = first == 0xe0 ? 0xa0 : 0x80;
        return tail && is_from(byte(1), least, first == 0xed ? 0x9f : 0xbf) ? 3 : 0;
    }
    if (!is_from(first, 0xf0, 0xf4) || !is_from(byte(3), 0x80, 0xbf)) return 0;
    unsigned const least = first == 0xf0 ? 0x90 : 0x80;
    return tail && is_from(byte(1), least, first == 0xf4 ? 0x8f : 0xbf) ? 4 : 0;
}

}  // namespace

std::string_view cut(std::string_view text, std::size_t longest) {
    if (text.size() <= longest) return text;
    while (longest != 0 && (static_cast<unsigned char>(text[longest]) & 0xc0U) == 0x80U) --longest;
    return text.substr(0, longest);
}

void WireWriter::clean(std::string& text) {
    for (std::size_t at = unprintable(text); at != std::string::npos; at = unprintable(text, at)) {
        text[at] = ' ';
    }
}

void WireWriter::characters(std::string_view /*field*/, std::string& value, std::size_t room) {
    value.resize(cut(value, room - 1).size());
    auto const bytes = std::as_bytes(std::span(value));
    into_.insert(into_.end(), bytes.begin(), bytes.end());
    into_.resize(into_.size() + room - bytes.size());
}

void WireReader::characters(std::string_view field, std::string& value, std::size_t room) {
    auto const bytes = next(field, room);
    std::string_view const all(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::size_t const end = all.find('\0');
    if (end == std::string_view::npos) fail(field, "the text has no end");
    if (all.find_first_not_of('\0', end) != std::string_view::npos) {
        fail(field, "bytes follow the end of the text");
    }
    value = all.substr(0, end);
}

std::size_t unprintable(std::string_view text, std::size_t from) {
    while (from < text.size()) {
        std::size_t const bytes = character_at(text.substr(from));
        if (bytes == 0) return from;
        from += bytes;
    }
    return std::string_view::npos;
}

}  // namespace carillon::detail

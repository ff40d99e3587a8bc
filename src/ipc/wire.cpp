// SPDX-License-Identifier: Apache-2.0
#include "ipc/wire.hpp"

#include <algorithm>

namespace carillon::detail {
namespace {

bool is_control(char character) {
    auto const byte = static_cast<unsigned char>(character);
    return byte < 0x20 || byte == 0x7f;
}

// No character of several bytes (UTF-8) is cut in two.
void cut(std::string& text, std::size_t longest) {
    if (text.size() <= longest) return;
    while (longest != 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
    text.resize(longest);
}

}  // namespace

void WireWriter::clean(std::string& text) { std::ranges::replace_if(text, is_control, ' '); }

void WireWriter::characters(std::string_view /*field*/, std::string& value, std::size_t room) {
    cut(value, room - 1);
    auto const bytes = std::as_bytes(std::span(value));
    into_.insert(into_.end(), bytes.begin(), bytes.end());
    into_.resize(into_.size() + room - bytes.size());
}

void WireReader::characters(std::string_view field, std::string& value, std::size_t room) {
    auto const bytes = next(field, room);
    std::string_view const all(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::size_t const end = all.find('\0');
    if (end == std::string_view::npos) fail(field, "it has no end");
    if (all.find_first_not_of('\0', end) != std::string_view::npos) {
        fail(field, "there are bytes behind its end");
    }
    value = all.substr(0, end);
}

std::size_t control_character(std::string_view text) {
    auto const* const found = std::ranges::find_if(text, is_control);
    return found == text.end() ? std::string_view::npos
                               : static_cast<std::size_t>(found - text.begin());
}

}  // namespace carillon::detail

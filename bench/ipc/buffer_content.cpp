// SPDX-License-Identifier: Apache-2.0
#include "ipc/buffer_content.hpp"

#include <fmt/format.h>

#include <carillon/error.hpp>
#include <cstring>
#include <sstream>

namespace carillon::tool {

std::string to_line(GotBuffer const& got) { return fmt::format("{} {}", got.at, got.word); }

std::span<std::byte const> Content::next() {
    ++number_;
    std::memcpy(bytes_.data() + bytes_.size() - sizeof(number_), &number_, sizeof(number_));
    return bytes_;
}

Time Content::arrival(std::string const& line) const {
    std::istringstream said(line);
    GotBuffer got;
    said >> got.at >> got.word;
    if (said && got.word == number_) return got.at;
    throw Error("ipc", fmt::format("buffer {} came as \"{}\"", number_, line));
}

}  // namespace carillon::tool

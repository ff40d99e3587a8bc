// SPDX-License-Identifier: Apache-2.0
// Values of any size whose bytes all follow from a number, so that a mixture of two values shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

// A value of words if `bytes` is a multiple of 8; the first is the number.
template <std::size_t bytes>
struct SizedWords {
    std::uint64_t word[bytes / 8];

    CARILLON_HD static constexpr std::uint64_t expected(std::uint64_t number, std::size_t i) {
        return i == 0 ? number : (number + i) * 0x9e3779b97f4a7c15U;
    }
    CARILLON_HD static SizedWords make(std::uint64_t number) {
        SizedWords value;
        for (std::size_t i = 0; i < bytes / 8; ++i) value.word[i] = expected(number, i);
        return value;
    }
    [[nodiscard]] CARILLON_HD std::uint64_t number() const { return word[0]; }
    [[nodiscard]] CARILLON_HD bool whole() const {
        for (std::size_t i = 0; i < bytes / 8; ++i) {
            if (word[i] != expected(number(), i)) return false;
        }
        return true;
    }
    bool operator==(SizedWords const&) const = default;
};

// A value of bytes.
template <std::size_t bytes>
struct SizedBytes {
    unsigned char byte[bytes];

    CARILLON_HD static SizedBytes make(std::uint64_t number) {
        SizedBytes value;
        for (std::size_t i = 0; i < bytes; ++i) {
            value.byte[i] = static_cast<unsigned char>((number + i) * 0x9e3779b97f4a7c15U >> 40);
        }
        return value;
    }
    bool operator==(SizedBytes const&) const = default;
};

}  // namespace carillon::test

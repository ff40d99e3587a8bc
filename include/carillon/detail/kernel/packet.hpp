// SPDX-License-Identifier: Apache-2.0
// Packs several types of message into one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// `bytes` bytes behind a word that says their kind. Trivially copyable.
template <std::size_t bytes>
struct Packet {
    std::uint32_t kind;
    std::uint32_t word[(bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t)];
};

template <class P, class T>
[[nodiscard]] CARILLON_HD P make_packet(std::uint32_t kind, T const& value) {
    static_assert(sizeof(T) <= sizeof(P::word));
    P packet{};
    packet.kind = kind;
    auto const bytes = __builtin_bit_cast(BytesOf<T>, without_padding(value));
    std::memcpy(packet.word, &bytes, sizeof(T));
    return packet;
}

template <class T, class P>
[[nodiscard]] CARILLON_HD T read_packet(P const& packet) {
    BytesOf<T> bytes;
    std::memcpy(&bytes, packet.word, sizeof(T));
    return __builtin_bit_cast(T, bytes);
}

CARILLON_HD constexpr std::size_t largest(std::initializer_list<std::size_t> sizes) {
    std::size_t most = 1;
    for (std::size_t const size : sizes) most = size > most ? size : most;
    return most;
}

template <class Command, std::uint32_t index>
CARILLON_HD constexpr std::uint32_t opcode_in_table() {
    if constexpr (requires { Command::opcode; }) {
        return Command::opcode;
    } else {
        return index;
    }
}

template <std::size_t count>
struct Opcodes {
    std::uint32_t value[count];
    [[nodiscard]] CARILLON_HD constexpr bool distinct() const {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (value[i] == value[j]) return false;
            }
        }
        return true;
    }
};

}  // namespace carillon::detail

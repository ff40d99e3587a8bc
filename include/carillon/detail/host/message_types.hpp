// SPDX-License-Identifier: Apache-2.0
// What two processes that were compiled apart compare before they exchange messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <typeinfo>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// A type whose bytes travel.
struct MessageType {
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 0;
    std::uint64_t layout = 0;  // a hash of its name, and of what it is made of as far as is known
    std::string name;          // for people

    [[nodiscard]] bool operator==(MessageType const& other) const {
        return bytes == other.bytes && alignment == other.alignment && layout == other.layout;
    }
};

// As it is written in source; `mangled` itself where it is no type's name.
[[nodiscard]] std::string type_name(char const* mangled);
// FNV-1a, 64 bits.
[[nodiscard]] std::uint64_t hash_of(std::string_view text, std::uint64_t number);

// `described`: the type that says what T's bytes mean, T itself as a rule.
template <class T, class Described = T>
[[nodiscard]] MessageType message_type() {
    return {sizeof(T), alignof(T),
            hash_of(typeid(Described).name(), (std::uint64_t{sizeof(T)} << 32U) + alignof(T)),
            type_name(typeid(Described).name())};
}

// Request and reply of a channel.
struct MessageTypes {
    MessageType request;
    MessageType reply;

    // Of what a handler's clients send and take: a command's packets are told by their table.
    template <class Messages>
    [[nodiscard]] static MessageTypes of() {
        if constexpr (Messages::has_commands) {
            using Table = typename Messages::Table;
            return {message_type<typename Messages::Request, Table>(),
                    message_type<typename Messages::Reply, Table>()};
        } else {
            return {message_type<typename Messages::Request>(),
                    message_type<typename Messages::Reply>()};
        }
    }
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Descriptions of messages, which two processes compare before they exchange any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/commands.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/members.hpp"

namespace carillon::detail {

// The type of a message.
struct MessageType {
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 0;
    // A hash of its name, and of its known parts; 0: only its size is known, and its name if it has
    // one (name_of_bytes).
    std::uint64_t layout = 0;
    std::uint64_t members = unsaid_members;  // members_of
    std::uint32_t slot_lines = 1;            // of a slot, for an object with slots
    std::string name;                        // for people
};

// The name of bytes whose type's name is unknown.
inline constexpr std::string_view name_of_bytes = "bytes";

// The name as in source; `mangled` itself if that is no type's name.
[[nodiscard]] std::string type_name(char const* mangled);

// Describes T. `described` is the type that gives T's bytes their meaning, usually T itself.
template <class T, class Described = T>
[[nodiscard]] MessageType message_type(std::uint32_t slot_lines = slot_lines_of<T>) {
    return {sizeof(T),
            alignof(T),
            hash_of(mangled_name<Described>(), (std::uint64_t{sizeof(T)} << 32U) + alignof(T)),
            members_of<T>(),
            slot_lines,
            type_name(mangled_name<Described>())};
}

// Adds a command (opcode, size and type), or a reply (size and type), to the type of a packet.
template <class One>
void add_to(MessageType& packet, std::uint64_t opcode = 0) {
    std::uint64_t const number = (opcode << 32U) + (sizeof(One) << 16U) + alignof(One);
    packet.layout = hash_of(mangled_name<One>(), 31 * packet.layout + number);
    packet.members = add_members(packet.members, members_of<One>());
}

// The type of a packet for a table's commands.
template <class Packet, class... Command>
[[nodiscard]] MessageType packet_type(Commands<Command...> const* /*table*/) {
    using Table = Commands<Command...>;
    MessageType type = message_type<Packet, Table>();
    type.members = no_members;
    (add_to<Command>(type, Table::template opcode<Command>()), ...);
    return type;
}

// The type of the packet for replies; each reply counts with its command.
template <class Messages, class... Command>
[[nodiscard]] MessageType reply_packet_type(Commands<Command...> const* table) {
    MessageType type = packet_type<typename Messages::Reply>(table);
    (add_to<typename Messages::template ReplyTo<Command>>(type), ...);
    return type;
}

// Request and reply of a channel.
struct MessageTypes {
    MessageType request;
    MessageType reply;

    // The types that a handler's clients send and take; with a table, packets of commands.
    template <class Messages>
    [[nodiscard]] static MessageTypes of() {
        if constexpr (Messages::has_commands) {
            typename Messages::Table const* const table = nullptr;
            return {packet_type<typename Messages::Request>(table),
                    reply_packet_type<Messages>(table)};
        } else {
            return {message_type<typename Messages::Request>(),
                    message_type<typename Messages::Reply>()};
        }
    }
};

}  // namespace carillon::detail

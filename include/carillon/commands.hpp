// SPDX-License-Identifier: Apache-2.0
// `Commands`: several types of command over one channel or pool, for handlers. A request's opcode
// names the command. A reply's status says whether the command was answered, or why not.
//
//   request   | opcode | command, up to 1020 bytes   |
//   reply     | status | reply, or the refusal's code |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {
namespace detail {

// A word for the kind, followed by `bytes` bytes. Trivially copyable.
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

}  // namespace detail

// Most bytes of a command, and of a reply to one: a message without its opcode or status.
inline constexpr std::size_t command_bytes = detail::message_bytes - sizeof(std::uint32_t);

// The reply to a command whose handler returns nothing.
struct Done {
    bool operator==(Done const&) const = default;
};

// A handler's answer in place of a reply; the user defines the code's meaning.
struct Refusal {
    std::uint32_t code;
};

// The result of a handler that may refuse: a reply or a Refusal.
template <class Reply = Done>
class Outcome {
   public:
    // NOLINTNEXTLINE(google-explicit-constructor): `return reply;`
    CARILLON_HD Outcome(Reply const& reply) : reply_(reply), refused_(false) {}
    // NOLINTNEXTLINE(google-explicit-constructor): `return Refusal{code};`
    CARILLON_HD Outcome(Refusal refusal) : refusal_(refusal), refused_(true) {}

    // Whether this is a refusal. If so, only refusal() may be called, otherwise only reply().
    [[nodiscard]] CARILLON_HD bool refused() const { return refused_; }
    [[nodiscard]] CARILLON_HD Reply const& reply() const { return reply_; }
    [[nodiscard]] CARILLON_HD Refusal refusal() const { return refusal_; }

   private:
    union {
        Reply reply_;
        Refusal refusal_;
    };
    bool refused_;
};

// The status of a reply to a command.
enum class ReplyStatus : std::uint32_t {
    answered,
    refused,          // the first word is the code
    unknown_command,  // the kernel has no such opcode
};

// The commands that a kernel knows. A command's opcode is its `static constexpr std::uint32_t
// opcode`, or by default its position in the list.
template <class... Command>
class Commands {
    static_assert(sizeof...(Command) > 0,
                  "carillon: a table of commands names at least one command");
    static_assert((std::is_trivially_copyable_v<Command> && ...),
                  "carillon: a command must be trivially copyable: its bytes cross a bus");
    static_assert(((sizeof(Command) <= command_bytes) && ...),
                  "carillon: a command must be at most 1020 bytes: it travels with its opcode");

   public:
    // The wire format: an opcode, and room for the largest command.
    using Request = detail::Packet<detail::largest({sizeof(Command)...})>;

    // Whether the table names the type.
    template <class C>
    static constexpr bool has = (std::is_same_v<C, Command> || ...);

    // The opcode of C. The table must name C.
    template <class C>
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t opcode() {
        static_assert(has<C>, "carillon: the table of commands does not name this type");
        constexpr bool same[] = {std::is_same_v<C, Command>...};
        std::uint32_t index = 0;
        while (!same[index]) ++index;
        return opcodes.value[index];
    }

    // Packs a command for the wire.
    template <class C>
    [[nodiscard]] CARILLON_HD static Request pack(C const& command) {
        return detail::make_packet<Request>(opcode<C>(), command);
    }

   private:
    template <std::uint32_t... index>
    static constexpr auto number(std::integer_sequence<std::uint32_t, index...> /*places*/) {
        return detail::Opcodes<sizeof...(Command)>{{detail::opcode_in_table<Command, index>()...}};
    }
    static constexpr auto opcodes =
        number(std::make_integer_sequence<std::uint32_t, sizeof...(Command)>());
    static_assert(opcodes.distinct(), "carillon: two commands of a table have the same opcode");
};

namespace detail {

// The reply type for a handler's result: Done for void, the value for an Outcome.
template <class Result>
struct ReplyFrom {
    using Type = Result;
};
template <>
struct ReplyFrom<void> {
    using Type = Done;
};
template <class Reply>
struct ReplyFrom<Outcome<Reply>> {
    using Type = Reply;
};

}  // namespace detail

// The reply of `Handler` to `Command`.
template <class Handler, class Command>
using ReplyTo = typename detail::ReplyFrom<detail::ResultOf<Handler, Command>>::Type;

}  // namespace carillon

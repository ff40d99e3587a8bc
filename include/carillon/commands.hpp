// SPDX-License-Identifier: Apache-2.0
// Several types of command over one channel. A request says by its opcode which command it is; a
// reply says whether it is one, or what went wrong instead.
//
//   request   | opcode | command, up to 44 bytes     |
//   reply     | status | reply, or the refusal's code |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {

inline constexpr std::size_t command_bytes = payload_bytes - sizeof(std::uint32_t);

// The reply to a command whose handler returns nothing.
struct Done {
    bool operator==(Done const&) const = default;
};

// What a handler says instead of a reply; what the code means is the user's.
struct Refusal {
    std::uint32_t code;
};

// What a handler returns that may refuse: a reply, or a Refusal.
template <class Reply = Done>
class Outcome {
   public:
    // NOLINTNEXTLINE(google-explicit-constructor): `return reply;`
    CARILLON_HD Outcome(Reply const& reply) : reply_(reply), refused_(false) {}
    // NOLINTNEXTLINE(google-explicit-constructor): `return Refusal{code};`
    CARILLON_HD Outcome(Refusal refusal) : refusal_(refusal), refused_(true) {}

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

enum class ReplyStatus : std::uint32_t {
    answered,
    refused,          // the first word is the code
    unknown_command,  // the kernel has no such opcode
};

namespace detail {

// `bytes` bytes behind a word that says what they are. Trivially copyable.
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
    auto const bytes = __builtin_bit_cast(BytesOf<T>, value);
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

// A handler's result as a reply: void is Done, an Outcome its value.
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

// The commands that a kernel knows. A command's opcode is its `static constexpr std::uint32_t
// opcode`, or else its place in the list.
template <class... Command>
class Commands {
    static_assert(sizeof...(Command) > 0, "carillon: a table of commands names one at least");
    static_assert((std::is_trivially_copyable_v<Command> && ...),
                  "carillon: a command must be trivially copyable: its bytes cross a bus");
    static_assert(((sizeof(Command) <= command_bytes) && ...),
                  "carillon: a command must be at most 44 bytes: it travels in one line");

   public:
    using Request = detail::Packet<detail::largest({sizeof(Command)...})>;

    template <class C>
    static constexpr bool has = (std::is_same_v<C, Command> || ...);

    template <class C>
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t opcode() {
        static_assert(has<C>, "carillon: the table of commands does not name this type");
        constexpr bool same[] = {std::is_same_v<C, Command>...};
        std::uint32_t index = 0;
        while (!same[index]) ++index;
        return opcodes.value[index];
    }

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

// What `Handler` replies to `Command`.
template <class Handler, class Command>
using ReplyTo = typename detail::ReplyFrom<std::invoke_result_t<Handler&, Command const&>>::Type;

// A handler of requests that calls `handler(command)` for the command that a request is.
template <class Handler, class Table>
class CommandHandler;

template <class Handler, class... Command>
class CommandHandler<Handler, Commands<Command...>> {
    static_assert((std::is_invocable_v<Handler&, Command const&> && ...),
                  "carillon: the handler has no operator() for a command of its table");
    static_assert((std::is_trivially_copyable_v<ReplyTo<Handler, Command>> && ...),
                  "carillon: a reply must be trivially copyable: its bytes cross a bus");
    static_assert(
        ((sizeof(ReplyTo<Handler, Command>) <= command_bytes) && ...),
        "carillon: a reply to a command must be at most 44 bytes: it travels in one line");

   public:
    using Table = Commands<Command...>;
    using Request = typename Table::Request;
    using Reply = detail::Packet<detail::largest(
        {sizeof(std::uint32_t), sizeof(ReplyTo<Handler, Command>)...})>;

    static constexpr bool out_of_line = detail::out_of_line_of<Handler>() == OutOfLine::written;
    static constexpr unsigned threads = detail::threads_of<Handler>();

    CommandHandler() = default;
    CARILLON_HD explicit CommandHandler(Handler const& handler) : handler_(handler) {}

    CARILLON_HD Reply operator()(Request const& request) {
        Reply reply{static_cast<std::uint32_t>(ReplyStatus::unknown_command), {}};
        (void)((request.kind == Table::template opcode<Command>() &&
                (reply = run(detail::read_packet<Command>(request)), true)) ||
               ...);
        return reply;
    }

   private:
    template <class C>
    CARILLON_HD Reply run(C const& command) {
        using Result = std::invoke_result_t<Handler&, C const&>;
        constexpr auto answered = static_cast<std::uint32_t>(ReplyStatus::answered);
        if constexpr (std::is_void_v<Result>) {
            handler_(command);
            return detail::make_packet<Reply>(answered, Done{});
        } else if constexpr (std::is_same_v<Result, typename detail::ReplyFrom<Result>::Type>) {
            return detail::make_packet<Reply>(answered, handler_(command));
        } else {
            Result const outcome = handler_(command);
            if (!outcome.refused()) return detail::make_packet<Reply>(answered, outcome.reply());
            return detail::make_packet<Reply>(static_cast<std::uint32_t>(ReplyStatus::refused),
                                              outcome.refusal().code);
        }
    }

    Handler handler_;
};

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The messages between the clients of a kernel and its handler.
#pragma once

#include <type_traits>

#include "carillon/commands.hpp"
#include "carillon/detail/kernel/command_handler.hpp"

namespace carillon::detail {

// Request and Reply of a handler whose operator() is neither overloaded nor a template.
template <class Member>
struct HandlerSignature;
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q)> {
    using Request = std::remove_cvref_t<Q>;
    using Reply = R;
};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) const> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) noexcept> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) const noexcept> : HandlerSignature<R (H::*)(Q)> {};
// A handler with a state of its block.
template <class H, class R, class Q, class S>
struct HandlerSignature<R (H::*)(Q, S)> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q, class S>
struct HandlerSignature<R (H::*)(Q, S) const> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q, class S>
struct HandlerSignature<R (H::*)(Q, S) noexcept> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q, class S>
struct HandlerSignature<R (H::*)(Q, S) const noexcept> : HandlerSignature<R (H::*)(Q)> {};

// One type of request, and one of reply.
template <class RequestType, class ReplyType>
struct OneRequest {
    static constexpr bool has_commands = false;
    using Request = RequestType;
    using Reply = ReplyType;
};

// The requests and replies of a table of commands, as packets.
template <class Handler, class CommandTable>
struct TypedCommands {
    static constexpr bool has_commands = true;
    using Table = CommandTable;
    using Request = typename CommandHandler<Handler, Table>::Request;
    using Reply = typename CommandHandler<Handler, Table>::Reply;
    template <class Command>
    struct ReplyToCommand {
        static_assert(Table::template has<Command>,
                      "carillon: the table of commands does not name this type");
        using Type = carillon::ReplyTo<Handler, Command>;
    };
    template <class Command>
    using ReplyTo = typename ReplyToCommand<Command>::Type;
};

// How a handler may name its messages.
template <class Handler>
concept NamesMessages = requires {
    typename Handler::Request;
    typename Handler::Reply;
};
template <class Handler>
concept NamesCommands = requires {
    typename Handler::Commands;
};

// The functor that a kernel with `Handler` runs, and its messages. A handler that is overloaded or
// a template names the types of its one request and reply, or its table of commands.
template <class Handler>
struct Served {
    using Functor = Handler;
    using Signature = HandlerSignature<decltype(&Handler::operator())>;
    using Messages = OneRequest<typename Signature::Request, typename Signature::Reply>;
};
template <class Handler>
requires(NamesMessages<Handler> && !NamesCommands<Handler>) struct Served<Handler> {
    using Functor = Handler;
    using Messages = OneRequest<typename Handler::Request, typename Handler::Reply>;
};
template <NamesCommands Handler>
struct Served<Handler> {
    using Functor = CommandHandler<Handler, typename Handler::Commands>;
    using Messages = TypedCommands<Handler, typename Handler::Commands>;
};

template <class Handler>
using FunctorOf = typename Served<Handler>::Functor;
template <class Handler>
using MessagesOf = typename Served<Handler>::Messages;

}  // namespace carillon::detail

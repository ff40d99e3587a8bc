// SPDX-License-Identifier: Apache-2.0
// Derives the messages between a kernel's clients and its handler, for both sides.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/commands.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Calls `handler(command)` for the command in a request.
template <class Handler, class Table>
class CommandHandler;

template <class Handler, class... Command>
class CommandHandler<Handler, Commands<Command...>> {
    static_assert((Handles<Handler, Command> && ...),
                  "carillon: the handler has no operator() for a command of its table");
    static_assert((std::is_trivially_copyable_v<ReplyTo<Handler, Command>> && ...),
                  "carillon: a reply must be trivially copyable: its bytes cross a bus");
    static_assert(
        ((sizeof(ReplyTo<Handler, Command>) <= command_bytes) && ...),
        "carillon: a reply to a command must be at most 1020 bytes: it travels with its status");

   public:
    using Table = Commands<Command...>;
    using Request = typename Table::Request;
    using Reply = Packet<largest({sizeof(std::uint32_t), sizeof(ReplyTo<Handler, Command>)...})>;

    static constexpr bool out_of_line = out_of_line_of<Handler>() == OutOfLine::written;
    static constexpr unsigned threads = threads_of<Handler>();

    CommandHandler() = default;
    CARILLON_HD explicit CommandHandler(Handler const& handler) : handler_(handler) {}

    CARILLON_HD Reply operator()(Request const& request) {
        Reply reply{static_cast<std::uint32_t>(ReplyStatus::unknown_command), {}};
        (void)((request.kind == Table::template opcode<Command>() &&
                (reply = run(read_packet<Command>(request)), true)) ||
               ...);
        return reply;
    }

    CARILLON_HD void idle() requires HasIdle<Handler> { run_idle(handler_); }
    CARILLON_HD friend void begin_state(CommandHandler& own) { begin_state(own.handler_); }

   private:
    template <class C>
    CARILLON_HD Reply run(C const& command) {
        using Result = ResultOf<Handler, C>;
        check_handler_call<Result, C const&>(handler_);
        constexpr auto answered = static_cast<std::uint32_t>(ReplyStatus::answered);
        if constexpr (std::is_void_v<Result>) {
            handle_by(handler_, command);
            return make_packet<Reply>(answered, Done{});
        } else if constexpr (std::is_same_v<Result, typename ReplyFrom<Result>::Type>) {
            return make_packet<Reply>(answered, handle_by(handler_, command));
        } else {
            Result const outcome = handle_by(handler_, command);
            if (!outcome.refused()) return make_packet<Reply>(answered, outcome.reply());
            return make_packet<Reply>(static_cast<std::uint32_t>(ReplyStatus::refused),
                                      outcome.refusal().code);
        }
    }

    Handler handler_;
};

// Request and Reply of a handler whose operator() is neither overloaded nor a template. S is the
// state of its block, if any.
template <class Member>
struct HandlerSignature;
template <class H, class R, class Q, class... S>
requires(sizeof...(S) <= 1) struct HandlerSignature<R (H::*)(Q, S...)> {
    using Request = std::remove_cvref_t<Q>;
    using Reply = R;
};
template <class H, class R, class Q, class... S>
requires(sizeof...(S) <= 1) struct HandlerSignature<R (H::*)(Q, S...) const>
    : HandlerSignature<R (H::*)(Q, S...)> {
};
template <class H, class R, class Q, class... S>
requires(sizeof...(S) <= 1) struct HandlerSignature<R (H::*)(Q, S...) noexcept>
    : HandlerSignature<R (H::*)(Q, S...)> {
};
template <class H, class R, class Q, class... S>
requires(sizeof...(S) <= 1) struct HandlerSignature<R (H::*)(Q, S...) const noexcept>
    : HandlerSignature<R (H::*)(Q, S...)> {
};

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

// The ways in which a handler can name its messages.
template <class Handler>
concept NamesMessages = requires {
    typename Handler::Request;
    typename Handler::Reply;
};
template <class Handler>
concept NamesCommands = requires {
    typename Handler::Commands;
};

// The functor that a kernel with `Handler` runs, and its messages. A handler whose operator() is
// overloaded or a template names the types of its request and reply, or its table of commands.
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

#if !defined(__CUDACC_RTC__)  // nvrtc_std.hpp lacks what these ask
template <class Handler>
concept HasOneCall = requires {
    typename HandlerSignature<decltype(&Handler::operator())>::Reply;
};
template <class Handler>
constexpr bool check_handler_messages() {
    using Request = typename MessagesOf<Handler>::Request;
    using Reply = typename MessagesOf<Handler>::Reply;
    static_assert(!std::is_void_v<Reply>,
                  "carillon: a handler must return its reply: return an empty struct "
                  "(carillon::Done) for none");
    static_assert(!std::is_reference_v<Reply>,
                  "carillon: a handler must return its reply by value: its bytes cross a bus");
    if constexpr (std::is_object_v<Reply>) {
        if constexpr (HasShared<Handler>) {
            static_assert(
                std::is_invocable_r_v<Reply, Handler&, Request const&, typename Handler::Shared&>,
                "carillon: a handler that declares Shared takes it as the second argument: "
                "operator()(request, shared)");
        } else {
            static_assert(std::is_invocable_r_v<Reply, Handler&, Request const&>,
                          "carillon: a handler must take its request by value or by reference to "
                          "const, and return its reply");
        }
        check_payload<Request>();
        check_payload<Reply>();
    }
    return true;
}

template <class Handler>
constexpr bool check_handler() {
    constexpr bool called = NamesCommands<Handler> || NamesMessages<Handler> || HasOneCall<Handler>;
    static_assert(
        called,
        "carillon: a handler is a class with one operator() of one parameter, the request; "
        "otherwise declare `using Request` and `using Reply`, or `using Commands`");
    check_handler_object<Handler>();
    if constexpr (called && !NamesCommands<Handler>) check_handler_messages<Handler>();
    return true;
}

template <class Body>
constexpr void check_body() {
    static_assert(std::is_class_v<Body>,
                  "carillon: a kernel body must be a class with an operator(): a GPU cannot call a "
                  "host function");
    static_assert(std::is_trivially_copyable_v<Body>,
                  "carillon: a kernel body must be trivially copyable: it is passed by value");
    static_assert(sizeof(Body) <= handler_bytes,
                  "carillon: a kernel body must be at most 4096 bytes: keep the rest in device "
                  "memory (Device::allocate) that it points to");
    static_assert(
        std::is_invocable_v<Body&, unsigned>,
        "carillon: a kernel body needs operator()(unsigned), which gets the block's number");
    if constexpr (std::is_invocable_v<Body&, unsigned>) {
        static_assert(std::is_void_v<std::invoke_result_t<Body&, unsigned>>,
                      "carillon: a kernel body must return void; a function that makes one per "
                      "block must return a class with operator()(unsigned)");
    }
}
#endif

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Makes a handler of a table of commands a handler of one type of request.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/commands.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/packet.hpp"
#include "carillon/detail/wire/config.hpp"

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
        "carillon: a reply to a command must be at most 1020 bytes: it travels beside its status");

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

}  // namespace carillon::detail

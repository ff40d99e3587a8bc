// SPDX-License-Identifier: Apache-2.0
// A kernel that never stops and knows several types of command.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <typeinfo>

#include "carillon/channel.hpp"
#include "carillon/commands.hpp"
#include "carillon/error.hpp"
#include "carillon/persistent_kernel.hpp"

namespace carillon {

// Names a command that was submitted, for whoever waits for its reply.
template <class Command>
class CommandTicket {
   public:
    explicit CommandTicket(Ticket ticket) : ticket_(ticket) {}
    [[nodiscard]] Ticket ticket() const { return ticket_; }

   private:
    Ticket ticket_;
};

namespace detail {

// Throws what a status that is not `answered` means: HandlerError, or UsageError for a command that
// the kernel does not know.
[[noreturn]] void throw_status(std::string_view call, std::uint32_t status, std::uint32_t code,
                               std::type_info const& command);

}  // namespace detail

// A channel by its commands; as Channel, one thread at a time. It refers to the kernel's channel.
template <class Handler, class Table>
class CommandChannel {
    using Requests = CommandHandler<Handler, Table>;
    using Plain = Channel<typename Requests::Request, typename Requests::Reply>;

   public:
    explicit CommandChannel(Plain& channel) : channel_(&channel) {}

    // Sends a command and waits for its reply; Done for a handler that returns nothing. Throws
    // HandlerError when the handler refused it, and what Channel::call throws: when the deadline
    // passes, the command may still be served, and its reply is dropped.
    template <class Command>
    ReplyTo<Handler, Command> call(Command const& command, std::chrono::nanoseconds timeout,
                                   OutOfLine data = OutOfLine::none) {
        return reply_to<Command>("Channel::call",
                                 channel_->call(Table::pack(command), timeout, data));
    }

    // As Channel's.
    template <class Command>
    [[nodiscard]] std::optional<CommandTicket<Command>> try_submit(
        Command const& command, OutOfLine data = OutOfLine::none) {
        auto const ticket = channel_->try_submit(Table::pack(command), data);
        if (!ticket) return {};
        return CommandTicket<Command>(*ticket);
    }
    template <class Command>
    [[nodiscard]] CommandTicket<Command> submit(Command const& command,
                                                std::chrono::nanoseconds timeout,
                                                OutOfLine data = OutOfLine::none) {
        return CommandTicket<Command>(channel_->submit(Table::pack(command), timeout, data));
    }
    // These throw HandlerError too; the reply is taken then.
    template <class Command>
    [[nodiscard]] std::optional<ReplyTo<Handler, Command>> try_take(CommandTicket<Command> ticket) {
        auto const reply = channel_->try_take(ticket.ticket());
        if (!reply) return {};
        return reply_to<Command>("Channel::try_take", *reply);
    }
    template <class Command>
    ReplyTo<Handler, Command> wait(CommandTicket<Command> ticket,
                                   std::chrono::nanoseconds timeout) {
        return reply_to<Command>("Channel::wait", channel_->wait(ticket.ticket(), timeout));
    }
    template <class Command>
    void abandon(CommandTicket<Command> ticket) {
        channel_->abandon(ticket.ticket());
    }

    // The channel as it is: requests and replies not yet looked into.
    [[nodiscard]] Plain& plain() const { return *channel_; }

   private:
    template <class Command>
    static ReplyTo<Handler, Command> reply_to(std::string_view call,
                                              typename Requests::Reply const& reply) {
        if (reply.kind != static_cast<std::uint32_t>(ReplyStatus::answered)) [[unlikely]]
            detail::throw_status(call, reply.kind, reply.word[0], typeid(Command));
        return detail::read_packet<ReplyTo<Handler, Command>>(reply);
    }

    Plain* channel_;
};

// `Handler` has an operator() for every command of `Table`, a Commands<...>, which returns a reply,
// nothing, or an Outcome<Reply>. All else is as for PersistentKernel.
template <class Handler, class Table, detail::Toolchain toolchain = detail::this_toolchain>
class CommandKernel
    : private PersistentKernel<CommandHandler<Handler, Table>,
                               typename CommandHandler<Handler, Table>::Request,
                               typename CommandHandler<Handler, Table>::Reply, toolchain> {
    using Requests = CommandHandler<Handler, Table>;
    using Base =
        PersistentKernel<Requests, typename Requests::Request, typename Requests::Reply, toolchain>;

   public:
    explicit CommandKernel(Device const& device, PersistentKernelOptions const& options = {},
                           Handler const& handler = {})
        : Base(device, options, Requests(handler)) {}

    // Throws UsageError for a channel that is not.
    [[nodiscard]] CommandChannel<Handler, Table> channel(unsigned index = 0) {
        return CommandChannel<Handler, Table>(Base::channel(index));
    }
    [[nodiscard]] CommandChannel<Handler, Table> express(unsigned block = 0) {
        return CommandChannel<Handler, Table>(Base::express(block));
    }

    using Base::activity;
    using Base::blocks;
    using Base::channels;
    using Base::drain;
    using Base::multiprocessor;
    using Base::placement;
    using Base::running;
    using Base::state;
    using Base::stop;
};

}  // namespace carillon

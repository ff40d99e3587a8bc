// SPDX-License-Identifier: Apache-2.0
// The host's end of a kernel: sends requests to the device and takes the reply to each.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "carillon/block.hpp"
#include "carillon/commands.hpp"
#include "carillon/counters.hpp"
#include "carillon/detail/host/channel_transport.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/client_base.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/host/time_over.hpp"
#include "carillon/detail/kernel/messages.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"
#include "carillon/ticket.hpp"

namespace carillon {

// One thread at a time. A kernel's channels and pools give it: PersistentKernel::Client. That of a
// channel is neither copied nor moved: it numbers its requests, and two would number them apart.
// That of a pool is made and used by one thread; with it goes what is outstanding.
template <class Messages, class Transport>
class Client : private detail::ClientBase<Messages, Transport> {
    using Base = detail::ClientBase<Messages, Transport>;
    using Given = typename detail::MessageOf<typename Messages::Request>::Given;
    using GivenRow = typename detail::MessageOf<typename Messages::Request>::GivenRow;
    using Room = typename detail::MessageOf<typename Messages::Reply>::Room;
    using RoomForRow = typename detail::MessageOf<typename Messages::Reply>::RoomForRow;

   public:
    // The messages: the handler's own types, packets of a table of commands, or Bytes. The calls
    // take bytes as spans, and throw UsageError for another size and for a null pointer.
    using Request = typename Messages::Request;
    using Reply = typename Messages::Reply;  // the same, of the way back
    static constexpr bool replies_by_bytes = detail::IsBytes<Reply>;
    // Whether many go in one call: requests of one type, to a channel.
    static constexpr bool in_rows = Transport::is_channel && !Messages::has_commands;

    // An end of a transport that is made of these.
    template <class... End>
    requires std::constructible_from<Transport, End...>
    explicit Client(End&&... end) try : Base(std::forward<End>(end)...) {
    } catch (...) {
        detail::throw_named("Channel");
    }

    // As its transport.
    Client(Client&&) noexcept = default;
    Client& operator=(Client&&) = delete;
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;
    ~Client() = default;

    // Sends a request and waits for its reply: one round trip over the bus. Throws TimeoutError
    // when none came within `timeout`, which says whether the request was sent: it may still be
    // served then, and its reply is dropped. Throws StoppedError after a stop, CudaError when the
    // kernel died. `data` says that the request refers to device memory that the caller has
    // written (Memory::host_ptr).
    [[nodiscard]] Reply call(Given request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) requires(!replies_by_bytes) {
        return detail::in_call("Client::call", this, transport_, [&] {
            return Base::exchange(*this, transport_.request().wire(request), timeout, data);
        });
    }
    // Calls with a reply of bytes, which is written when the call returns.
    void call(Given request, Room reply, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) requires replies_by_bytes {
        detail::in_call("Client::call", this, transport_, [&] {
            auto const& asked = transport_.request().wire(request);
            transport_.reply().require_one(reply);
            transport_.reply().put(Base::exchange(*this, asked, timeout, data), reply);
        });
    }

    // Does all that a call does but for sending and taking, and changes nothing: what a call reads
    // and runs through is near then. For the loop in which a program waits for what it will send:
    // every few microseconds. Tens of nanoseconds; at any time between calls, with replies
    // outstanding too. It throws nothing when the kernel has ended: the next call does.
    void warm() {
        return detail::in_call("Client::warm", this, transport_, [&] { this->warm_up(); });
    }

    // Sends a request and returns at once, or returns nothing when there is no room: in the ring,
    // or for one more reply that is outstanding.
    [[nodiscard]] std::optional<Ticket> try_submit(Given request,
                                                   OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::try_submit", this, transport_, [&] {
            auto const sent = Base::send_if_room(*this, transport_.request().wire(request), data);
            return sent ? std::optional(this->ticket(*sent)) : std::nullopt;
        });
    }

    // The same, waiting for room. Throws TimeoutError; the request was not sent then.
    [[nodiscard]] Ticket submit(Given request, std::chrono::nanoseconds timeout,
                                OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::submit", this, transport_, [&] {
            return this->ticket(this->send(transport_.request().wire(request), timeout, data));
        });
    }

    // Of a channel: sends the first ones of `requests`, as many as there is room for, and returns
    // their tickets: with one fence for all of them, two where the ring begins anew, and one more
    // for each further 64 that are bytes. `data` is for what any of them refers to. Throws
    // UsageError for a null pointer to any, and for bytes that are no whole number of requests.
    [[nodiscard]] Tickets try_submit_n(GivenRow requests,
                                       OutOfLine data = OutOfLine::none) requires in_rows {
        return detail::in_call("Client::try_submit_n", this, transport_, [&] {
            transport_.request().require(requests);
            return transport_.request().send_row(requests,
                                                 [&](auto row) { return this->send_n(row, data); });
        });
    }

    // The same for all of them, waiting for room. `sent` gets the tickets of what was sent, however
    // this ends. Throws TimeoutError: what `sent` lacks was not sent then. Nobody takes replies
    // meanwhile: beyond capacity() none is outstanding.
    void submit_n(GivenRow requests, Tickets& sent, std::chrono::nanoseconds timeout,
                  OutOfLine data = OutOfLine::none) requires in_rows {
        return detail::in_call("Client::submit_n", this, transport_, [&] {
            auto const& of = transport_.request();
            of.require(requests);
            sent = {};
            auto const all_sent = [&] {
                sent.append(of.send_first(of.rest(requests, sent.size()),
                                          [&](auto row) { return this->send_n(row, data); }));
                return sent.size() == of.count(requests);
            };
            if (!this->wait_for(all_sent, Base::nothing_watched, timeout))
                transport_.throw_not_all_sent(sent.size(), of.count(requests));
        });
    }

    // The reply to a request, if it has come. Throws UsageError for a ticket of another client, and
    // when no reply is outstanding for it: it was taken or given up already. Once the kernel or its
    // owner is known to have ended, throws what wait() would: the reply will not come.
    [[nodiscard]] std::optional<Reply> try_take(Ticket const& ticket) requires(!replies_by_bytes) {
        return detail::in_call("Client::try_take", this, transport_, [&]() -> std::optional<Reply> {
            detail::Packed<Reply> reply;
            if (!this->take_now(this->valid(ticket), reply)) return {};
            return detail::unpack<Reply>(reply);
        });
    }

    // Takes a reply of bytes; false if it has not come.
    [[nodiscard]] bool try_take(Ticket const& ticket, Room reply) requires replies_by_bytes {
        return detail::in_call("Client::try_take", this, transport_, [&] {
            transport_.reply().require_one(reply);
            detail::Packed<typename Base::Reply> taken;
            bool const come = this->take_now(this->valid(ticket), taken);
            if (come) transport_.reply().put(detail::unpack<typename Base::Reply>(taken), reply);
            return come;
        });
    }

    // The reply to a request, waiting for it. After a TimeoutError the ticket is still good.
    [[nodiscard]] Reply wait(Ticket const& ticket,
                             std::chrono::nanoseconds timeout) requires(!replies_by_bytes) {
        return detail::in_call("Client::wait", this, transport_,
                               [&] { return this->await(this->valid(ticket), timeout); });
    }
    void wait(Ticket const& ticket, Room reply,
              std::chrono::nanoseconds timeout) requires replies_by_bytes {
        detail::in_call("Client::wait", this, transport_, [&] {
            transport_.reply().require_one(reply);
            transport_.reply().put(this->await(this->valid(ticket), timeout), reply);
        });
    }

    // Takes the replies to the first ones of `tickets` into the first ones of `replies`, as many as
    // have come and fit, and returns how many. Those tickets leave `tickets`, also where this
    // throws because the next one is good for nothing, as try_take does, or for a null pointer.
    std::size_t try_take_n(Tickets& tickets, RoomForRow replies) requires in_rows {
        return detail::in_call("Client::try_take_n", this, transport_, [&] {
            transport_.reply().require(replies);
            return this->receive_n(tickets, replies);
        });
    }

    // The same for all of them, waiting for those that have not come: as many as `replies` has room
    // for, or UsageError. After a TimeoutError the tickets that are left are still good.
    void take_n(Tickets& tickets, RoomForRow replies,
                std::chrono::nanoseconds timeout) requires in_rows {
        return detail::in_call("Client::take_n", this, transport_, [&] {
            auto const& of = transport_.reply();
            of.require(replies);
            std::size_t const all = tickets.size();
            if (of.count(replies) < all) detail::throw_no_room_for_replies(of.count(replies), all);
            auto const watched = [&] { return transport_.awaited(); };
            auto const all_taken = [&] {
                (void)this->receive_n(tickets, of.rest(replies, all - tickets.size()));
                return tickets.empty();
            };
            if (!this->wait_for(all_taken, watched, timeout))
                detail::throw_not_all_taken(all - tickets.size(), all);
        });
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(Ticket const& ticket) {
        return detail::in_call("Client::abandon", this, transport_,
                               [&] { transport_.give_up(this->valid(ticket)); });
    }

    // The same five for the commands of a table, each with its own type of reply: Done for a
    // handler that returns nothing. They throw HandlerError when the handler refused the command;
    // the reply is taken then.
    template <class Command>
    requires(Messages::has_commands) auto call(Command const& command,
                                               std::chrono::nanoseconds timeout,
                                               OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::call", [&] {
            return Base::template reply_to<Command>(
                call(Messages::Table::pack(command), timeout, data));
        });
    }
    // Nothing when there is no room; the ticket knows the reply's type.
    template <class Command>
    requires(Messages::has_commands) [[nodiscard]] std::optional<CommandTicket<Command>> try_submit(
        Command const& command, OutOfLine data = OutOfLine::none) {
        auto const ticket = try_submit(Messages::Table::pack(command), data);
        if (!ticket) return {};
        return CommandTicket<Command>(*ticket);
    }
    // The same, waiting for room. Throws TimeoutError; the command was not sent then.
    template <class Command>
    requires(Messages::has_commands)
        [[nodiscard]] CommandTicket<Command> submit(Command const& command,
                                                    std::chrono::nanoseconds timeout,
                                                    OutOfLine data = OutOfLine::none) {
        return CommandTicket<Command>(submit(Messages::Table::pack(command), timeout, data));
    }
    // The reply to a command in a std::optional: nothing if it has not come. Throws HandlerError.
    template <class Command>
    requires(Messages::has_commands)
        [[nodiscard]] auto try_take(CommandTicket<Command> const& ticket) {
        return detail::in_call("Client::try_take", [&] {
            auto const reply = try_take(static_cast<Ticket const&>(ticket));
            return reply ? std::optional(Base::template reply_to<Command>(*reply)) : std::nullopt;
        });
    }
    // The reply to a command, waiting for it. Throws HandlerError, and TimeoutError: the ticket is
    // still good then.
    template <class Command>
    requires(Messages::has_commands) auto wait(CommandTicket<Command> const& ticket,
                                               std::chrono::nanoseconds timeout) {
        return detail::in_call("Client::wait", [&] {
            return Base::template reply_to<Command>(
                wait(static_cast<Ticket const&>(ticket), timeout));
        });
    }

    // Of a channel: whether the kernel has answered every request. Of a client's calls this one and
    // the next are those that any thread may make.
    [[nodiscard]] bool all_answered() const requires(Transport::is_channel) {
        return detail::in_call("Client::all_answered", transport_,
                               [&] { return transport_.all_answered(); });
    }
    // Of a channel: what has gone through it. Nothing crosses the bus for it, and no call waits.
    [[nodiscard]] ChannelCounters counters() const requires(Transport::is_channel) {
        return detail::in_call("Client::counters", transport_,
                               [&] { return transport_.counters(); });
    }
    // Of a channel: how many requests have room.
    [[nodiscard]] std::uint32_t capacity() const requires(Transport::is_channel) {
        return transport_.capacity();
    }
    // How many bytes each request, and each reply, of a channel of bytes has.
    [[nodiscard]] std::size_t request_bytes() const requires replies_by_bytes {
        return transport_.request().bytes();
    }
    [[nodiscard]] std::size_t reply_bytes() const requires replies_by_bytes {
        return transport_.reply().bytes();
    }
    // The device's ends of a channel: pass them to a kernel that you write by value, once. Throws
    // UsageError the second time, and for a PersistentKernel's client.
    [[nodiscard]] auto device_handle(CodeLocation const& where = CodeLocation::current()) const
        requires(Transport::is_channel && !replies_by_bytes) {
        return detail::in_call("Client::device_handle",
                               [&] { return transport_.device_handle(where); });
    }

   private:
    using Base::transport_;
};

// The client of a channel with one type of request and one of reply, at most 1 KiB each. By
// itself it serves a kernel that the user writes: Channel<Request, Reply>(device, capacity), and
// its device_handle() for the kernel.
template <class Request, class Reply>
using Channel =
    Client<detail::OneRequest<Request, Reply>, detail::ChannelTransport<Request, Reply>>;

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// The host's end of a kernel: sends requests to the device and takes the reply to each.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "carillon/commands.hpp"
#include "carillon/detail/host/client_channel.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/members.hpp"
#include "carillon/ticket.hpp"

namespace carillon {

using detail::OutOfLine;
struct Channels;  // kernel_options.hpp
struct Pool;

namespace detail {
// Throws what a status that is not `answered` means: HandlerError, or UsageError for a command that
// the kernel does not know. `command`: the mangled name of its type.
[[noreturn]] void throw_status(std::uint32_t status, std::uint32_t code, char const* command);
}  // namespace detail

// A client is for one thread at a time. `Way` is how requests reach the kernel: `Channels`, through
// a channel of this client's own, or `Pool`, through a ring that all clients have. The client of a
// channel is neither copied nor moved: it numbers its requests, and two would number them apart.
// The client of a pool is moved, and one thread makes and uses it; when it goes, its outstanding
// requests go with it.
//
// A message is a type, or Bytes. The calls take bytes as spans, and throw UsageError for another
// size and for a null pointer.
template <class RequestType, class ReplyType, class Way = Channels>
class Client {
    using End = detail::ClientEnd<Way, RequestType, ReplyType>;
    using Given = typename detail::MessageOf<RequestType>::Given;
    using GivenRow = typename detail::MessageOf<RequestType>::GivenRow;
    using Room = typename detail::MessageOf<ReplyType>::Room;
    using RoomForRow = typename detail::MessageOf<ReplyType>::RoomForRow;
    static constexpr bool by_channel = std::same_as<Way, Channels>;
    static constexpr bool replies_by_bytes = detail::IsBytes<ReplyType>;

   public:
    using Request = RequestType;
    using Reply = ReplyType;

    // The client's end is made of these.
    template <class... Parts>
    requires std::constructible_from<End, Parts...>
    explicit Client(Parts&&... parts) try : end_(std::forward<Parts>(parts)...) {
    } catch (...) {
        detail::throw_named("Channel");
    }

    // Sends a request and waits for its reply: one round trip over the bus. Throws TimeoutError
    // when none came within `timeout`, which says whether the request was sent: it may still be
    // served then, and its reply is dropped. Throws StoppedError after a stop, CudaError when the
    // kernel died. `data` says that the request refers to device memory that the caller has
    // written (Memory::host_ptr).
    [[nodiscard]] Reply call(Given request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) requires(!replies_by_bytes) {
        return detail::in_call("Client::call", this, end_, [&] {
            return hot_call(*this, end_.request().wire(request), timeout, data);
        });
    }
    // Calls with a reply of bytes, which is written when the call returns.
    void call(Given request, Room reply, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) requires replies_by_bytes {
        detail::in_call("Client::call", this, end_, [&] {
            auto const& asked = end_.request().wire(request);
            end_.reply().require_one(reply);
            end_.reply().put(hot_call(*this, asked, timeout, data), reply);
        });
    }

    // Does all that a call does but for sending and taking, and changes nothing: what a call reads
    // and runs through is near then. For the loop in which a program waits for what it will send:
    // every few microseconds. Tens of nanoseconds; at any time between calls, with replies
    // outstanding too. It throws nothing when the kernel has ended: the next call does.
    void warm() {
        return detail::in_call("Client::warm", this, end_, [&] {
            detail::cpu::prefetch_code(&hot_call, 16);  // lines of each, as GCC compiles it
            detail::cpu::prefetch_code(&hot_submit, 16);
            detail::cpu::prefetch_code(&hot_take, 8);
            end_.warm();
            end_.wait_style().warm();
        });
    }

    // Sends a request and returns at once, or returns nothing when there is no room: in the ring,
    // or for one more reply that is outstanding.
    [[nodiscard]] std::optional<Ticket> try_submit(Given request,
                                                   OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::try_submit", this, end_, [&] {
            auto const sent = hot_submit(*this, end_.request().wire(request), data);
            return sent ? std::optional(end_.ticket(issuer_, *sent)) : std::nullopt;
        });
    }

    // Sends a request, waiting for room. Throws TimeoutError; the request was not sent then.
    [[nodiscard]] Ticket submit(Given request, std::chrono::nanoseconds timeout,
                                OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::submit", this, end_, [&] {
            auto const& asked = end_.request().wire(request);
            auto const sent = hot_submit(*this, asked, data);
            return end_.ticket(issuer_, sent ? *sent : this->submit_late(asked, timeout, data));
        });
    }

    // Sends the first ones of `requests`, as many as the channel has room for, and returns their
    // tickets: with one fence for all of them, two where the ring begins anew, and one more
    // for each further 64 that are bytes. `data` is for what any of them refers to. Throws
    // UsageError for a null pointer to any, and for bytes that are no whole number of requests.
    [[nodiscard]] Tickets try_submit_n(GivenRow requests,
                                       OutOfLine data = OutOfLine::none) requires by_channel {
        return detail::in_call("Client::try_submit_n", this, end_, [&] {
            end_.request().require(requests);
            return end_.request().send_row(requests,
                                           [&](auto row) { return this->submit_first(row, data); });
        });
    }

    // Sends all of them, waiting for room. `sent` gets the tickets of what was sent, however
    // this ends. Throws TimeoutError: what `sent` lacks was not sent then. Nobody takes replies
    // meanwhile: beyond capacity() none is outstanding.
    void submit_n(GivenRow requests, Tickets& sent, std::chrono::nanoseconds timeout,
                  OutOfLine data = OutOfLine::none) requires by_channel {
        return detail::in_call("Client::submit_n", this, end_, [&] {
            auto const& of = end_.request();
            of.require(requests);
            sent = {};
            auto const all_sent = [&] {
                sent.append(of.send_first(of.rest(requests, sent.size()),
                                          [&](auto row) { return this->submit_first(row, data); }));
                return sent.size() == of.count(requests);
            };
            if (!this->wait_for(all_sent, nothing_watched, timeout))
                end_.throw_not_all_sent(sent.size(), of.count(requests));
        });
    }

    // The reply to a request, if it has come. Throws UsageError for a ticket of another client, and
    // when no reply is outstanding for it: it was taken or given up already. Once the kernel or its
    // owner is known to have ended, throws what wait() would: the reply will not come.
    [[nodiscard]] std::optional<Reply> try_take(Ticket const& ticket) requires(!replies_by_bytes) {
        return detail::in_call("Client::try_take", this, end_,
                               [&] { return this->take_now(this->valid(ticket)); });
    }

    // Takes a reply of bytes; false if it has not come.
    [[nodiscard]] bool try_take(Ticket const& ticket, Room reply) requires replies_by_bytes {
        return detail::in_call("Client::try_take", this, end_, [&] {
            end_.reply().require_one(reply);
            auto const taken = this->take_now(this->valid(ticket));
            if (taken) end_.reply().put(*taken, reply);
            return taken.has_value();
        });
    }

    // The reply to a request, waiting for it. After a TimeoutError the ticket is still good.
    [[nodiscard]] Reply wait(Ticket const& ticket,
                             std::chrono::nanoseconds timeout) requires(!replies_by_bytes) {
        return detail::in_call("Client::wait", this, end_,
                               [&] { return this->await(this->valid(ticket), timeout); });
    }
    void wait(Ticket const& ticket, Room reply,
              std::chrono::nanoseconds timeout) requires replies_by_bytes {
        detail::in_call("Client::wait", this, end_, [&] {
            end_.reply().require_one(reply);
            end_.reply().put(this->await(this->valid(ticket), timeout), reply);
        });
    }

    // Takes the replies to the first ones of `tickets` into the first ones of `replies`, as many as
    // have come and fit, and returns how many. Their tickets leave `tickets`, also where this
    // throws because the next one is good for nothing, as try_take does, or for a null pointer.
    std::size_t try_take_n(Tickets& tickets, RoomForRow replies) requires by_channel {
        return detail::in_call("Client::try_take_n", this, end_, [&] {
            end_.reply().require(replies);
            return this->take_first(tickets, replies);
        });
    }

    // Takes all of them, waiting for those that have not come: as many as `replies` has room
    // for, or UsageError. After a TimeoutError the tickets that are left are still good.
    void take_n(Tickets& tickets, RoomForRow replies,
                std::chrono::nanoseconds timeout) requires by_channel {
        return detail::in_call("Client::take_n", this, end_, [&] {
            auto const& of = end_.reply();
            of.require(replies);
            std::size_t const all = tickets.size();
            if (of.count(replies) < all) detail::throw_no_room_for_replies(of.count(replies), all);
            auto const watched = [&] { return end_.awaited(); };
            auto const all_taken = [&] {
                (void)this->take_first(tickets, of.rest(replies, all - tickets.size()));
                return tickets.empty();
            };
            if (!this->wait_for(all_taken, watched, timeout))
                detail::throw_not_all_taken(all - tickets.size(), all);
        });
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(Ticket const& ticket) {
        return detail::in_call("Client::abandon", this, end_,
                               [&] { end_.abandon(this->valid(ticket)); });
    }

    // Whether the kernel has answered every request of this channel. Any thread may make this call
    // and the next, and no other.
    [[nodiscard]] bool all_answered() const requires(by_channel) {
        return detail::in_call("Client::all_answered", end_, [&] { return end_.all_answered(); });
    }
    // Counts what has gone through this channel. Nothing crosses the bus for it, and no call waits.
    [[nodiscard]] ChannelCounters counters() const requires(by_channel) {
        return detail::in_call("Client::counters", end_, [&] { return end_.counters(); });
    }
    // How many requests this channel has room for.
    [[nodiscard]] std::uint32_t capacity() const requires(by_channel) { return end_.capacity(); }
    // How many bytes each request, and each reply, of a channel of bytes has.
    [[nodiscard]] std::size_t request_bytes() const requires replies_by_bytes {
        return end_.request().bytes();
    }
    [[nodiscard]] std::size_t reply_bytes() const requires replies_by_bytes {
        return end_.reply().bytes();
    }
    // The device's ends of a channel: pass them to a kernel that you write by value, once. Throws
    // UsageError the second time, and for a PersistentKernel's client.
    [[nodiscard]] auto device_handle(CodeLocation const& where = CodeLocation::current()) const
        requires(by_channel && !replies_by_bytes) {
        return detail::in_call("Client::device_handle", [&] { return end_.device_handle(where); });
    }

   private:
    using Asked = typename detail::MessageOf<Request>::Wire;  // as the end moves them
    using Answered = typename detail::MessageOf<Reply>::Wire;
    using Sent = typename End::Sent;  // names a request whose reply is outstanding

    // A call runs through these three pieces of code, beside the store itself and the clock. They
    // have nothing of what is rare, and lie side by side where the linker keeps hot code. They are
    // static, since warm() needs their addresses.

    [[gnu::noinline, gnu::hot, gnu::flatten]] static Answered hot_call(
        Client& client, Asked const& request, std::chrono::nanoseconds timeout, OutOfLine data) {
        auto sent = hot_submit(client, request, data);
        if (!sent) [[unlikely]]
            sent = client.submit_late(request, timeout, data);
        try {
            return client.await(*sent, timeout);
        } catch (...) {
            client.end_.abandon(*sent);
            throw;
        }
    }
    [[gnu::noinline, gnu::hot, gnu::flatten]] static std::optional<Sent> hot_submit(
        Client& client, Asked const& request, OutOfLine data) {
        return client.end_.try_submit(request, data);
    }
    [[gnu::noinline, gnu::hot, gnu::flatten]] static bool hot_take(
        Client& client, Sent const& sent, detail::Packed<Answered>& reply) {
        return client.end_.try_take(sent, reply);
    }

    // Waits for room; `timeout` gets what is left of it.
    [[gnu::noinline, gnu::cold]] Sent submit_late(Asked const& request,
                                                  std::chrono::nanoseconds& timeout,
                                                  OutOfLine data) {
        detail::Deadline const deadline(timeout);
        std::optional<Sent> sent;
        auto const poll = [&] { return (sent = hot_submit(*this, request, data)).has_value(); };
        if (!wait_for(poll, nothing_watched, timeout)) end_.throw_not_sent();
        timeout = deadline.left();
        return *sent;
    }
    // Sends the requests that there is room for.
    [[nodiscard]] Tickets submit_first(std::span<Asked const> requests,
                                       OutOfLine data) requires(by_channel) {
        detail::Sequence const first = end_.next();
        return {issuer_, first, end_.try_submit_n(requests.data(), requests.size(), data)};
    }

    // Takes a reply if it has come. Throws what ended the kernel if it cannot come any more.
    [[nodiscard]] std::optional<Answered> take_now(Sent const& sent) {
        detail::Packed<Answered> reply;
        if (!hot_take(*this, sent, reply) && !take_at_end(sent, reply)) return {};
        return detail::unpack<Answered>(reply);
    }
    // Takes a reply that came beside the kernel's end, if the kernel is known to have ended.
    [[nodiscard]] bool take_at_end(Sent const& sent, detail::Packed<Answered>& reply) {
        return !end_.answers() && take_last(sent, reply);
    }
    [[gnu::noinline, gnu::cold]] bool take_last(Sent const& sent, detail::Packed<Answered>& reply) {
        try {
            end_.require_alive();
        } catch (...) {
            if (hot_take(*this, sent, reply)) return true;
            throw;
        }
        return hot_take(*this, sent, reply);
    }
    [[nodiscard]] Answered await(Sent const& sent, std::chrono::nanoseconds timeout) {
        detail::Packed<Answered> reply;
        auto const watched = [&] { return end_.awaited(); };
        auto const taken = [&] { return hot_take(*this, sent, reply); };
        if (!wait_for(taken, watched, timeout)) detail::throw_no_reply();
        return detail::unpack<Answered>(reply);
    }
    // Takes the replies that have come; their tickets leave `tickets`. Throws as take_now() if none
    // has.
    std::size_t take_first(Tickets& tickets, RoomForRow replies) requires(by_channel) {
        std::size_t const room = end_.reply().count(replies);
        std::size_t taken = 0;
        detail::Packed<Answered> reply;
        while (taken < room && !tickets.empty()) {
            auto const sent = valid(tickets[0]);
            if (!end_.try_take(sent, reply) && (taken != 0 || !take_at_end(sent, reply))) break;
            end_.reply().put(detail::unpack<Answered>(reply), replies, taken++);
            tickets = tickets.after(1);
        }
        return taken;
    }

    // The request that a ticket names. Throws UsageError for another client's ticket.
    [[nodiscard]] Sent valid(Ticket const& ticket) {
        if (ticket.issuer() != issuer_) [[unlikely]]
            throw UsageError("the ticket belongs to another client");
        return end_.find(ticket);
    }

    template <class Poll, class Watched>
    bool wait_for(Poll&& poll, Watched&& watched, std::chrono::nanoseconds timeout) {
        return end_.wait_style().until(poll, watched, timeout, [&] { end_.require_alive(); });
    }
    // A credit, or a reply that was given up, comes in no line that is watched.
    static void const* nothing_watched() { return nullptr; }

    End end_;  // what every call looks at first
    std::uint64_t issuer_ = detail::new_ticket_issuer();
};

// The client of a channel with one type of request and one of reply, at most 1 KiB each. By
// itself it serves a kernel that the user writes: Channel<Request, Reply>(device, capacity), and
// its device_handle() for the kernel.
template <class Request, class Reply>
using Channel = Client<Request, Reply>;

// The client of the messages that a handler's kernel takes and sends. Commands of a table travel as
// packets.
template <class Handler, class Way = Channels>
using MessageClient = Client<typename detail::MessagesOf<Handler>::Request,
                             typename detail::MessagesOf<Handler>::Reply, Way>;

// The client of a kernel whose handler has a table of commands (commands.hpp).
template <class Handler, class Way = Channels>
class CommandClient : public MessageClient<Handler, Way> {
    using Messages = detail::MessagesOf<Handler>;
    using Base = MessageClient<Handler, Way>;
    using Table = typename Messages::Table;

   public:
    using Base::Base;

    // Each command has its own type of reply: Done for a handler that returns nothing. These five
    // are Client's, and throw HandlerError when the handler refused the command; the reply is taken
    // then.
    template <class Command>
    auto call(Command const& command, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::call", [&] {
            return reply_to<Command>(this->Base::call(Table::pack(command), timeout, data));
        });
    }
    // Returns nothing when there is no room; the ticket knows the reply's type.
    template <class Command>
    [[nodiscard]] std::optional<CommandTicket<Command>> try_submit(
        Command const& command, OutOfLine data = OutOfLine::none) {
        auto const ticket = Base::try_submit(Table::pack(command), data);
        if (!ticket) return {};
        return CommandTicket<Command>(*ticket);
    }
    // Sends a command, waiting for room. Throws TimeoutError; the command was not sent then.
    template <class Command>
    [[nodiscard]] CommandTicket<Command> submit(Command const& command,
                                                std::chrono::nanoseconds timeout,
                                                OutOfLine data = OutOfLine::none) {
        return CommandTicket<Command>(Base::submit(Table::pack(command), timeout, data));
    }
    // The reply to a command in a std::optional: nothing if it has not come. Throws HandlerError.
    template <class Command>
    [[nodiscard]] auto try_take(CommandTicket<Command> const& ticket) {
        return detail::in_call("Client::try_take", [&] {
            auto const reply = this->Base::try_take(ticket);
            return reply ? std::optional(reply_to<Command>(*reply)) : std::nullopt;
        });
    }
    // The reply to a command, waiting for it. Throws HandlerError, and TimeoutError: the ticket is
    // still good then.
    template <class Command>
    auto wait(CommandTicket<Command> const& ticket, std::chrono::nanoseconds timeout) {
        return detail::in_call(
            "Client::wait", [&] { return reply_to<Command>(this->Base::wait(ticket, timeout)); });
    }

   private:
    template <class Command>
    [[nodiscard]] static auto reply_to(typename Base::Reply const& reply) {
        if (reply.kind != static_cast<std::uint32_t>(ReplyStatus::answered)) [[unlikely]]
            detail::throw_status(reply.kind, reply.word[0], detail::mangled_name<Command>());
        return detail::read_packet<typename Messages::template ReplyTo<Command>>(reply);
    }
};

// The client of a kernel with this handler: MessageClient, or CommandClient for a table.
template <class Handler, class Way = Channels>
using ClientOf = std::conditional_t<detail::NamesCommands<Handler>, CommandClient<Handler, Way>,
                                    MessageClient<Handler, Way>>;

}  // namespace carillon

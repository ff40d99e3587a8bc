// SPDX-License-Identifier: Apache-2.0
// `Client` and its kinds `Channel` and `CommandClient`: a host thread's end of a kernel, which
// sends requests and takes their replies. A PersistentKernel and a Connection give out clients.
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
// Throws the error for a status other than `answered`: HandlerError, or UsageError for a command
// that the kernel does not know. `command` is the mangled name of its type.
[[noreturn]] void throw_status(std::uint32_t status, std::uint32_t code, char const* command);
}  // namespace detail

// The host's end of a kernel, for one thread at a time. `Way` says how requests reach the kernel:
// `Channels`, through this client's own channel, or `Pool`, through a ring that all clients share.
// A channel's client is neither copied nor moved, because it numbers its requests. A pool's client
// can be moved; one thread makes and uses it. When it is destroyed, replies to its outstanding
// requests are dropped.
//
// A message is a type, or Bytes. With Bytes the calls take spans, and throw UsageError for a span
// of another size and for a null pointer.
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

    // For a kernel of your own, makes a client of a channel in new memory: Client(device,
    // capacity), by default with 256 slots; or of a channel in the caller's ChannelMemory:
    // Client(device, memory, index, wait). PersistentKernel and Connection pass other parts. Throws
    // UsageError, and what Device::allocate throws.
    template <class... Parts>
    requires std::constructible_from<End, Parts...>
    explicit Client(Parts&&... parts) try : end_(std::forward<Parts>(parts)...) {
    } catch (...) {
        detail::throw_named("Channel");
    }

    // Sends a request, waits for its reply and returns it: one round trip over the bus. `data` says
    // that the request refers to device memory that the caller has written (Memory::host_ptr).
    // Throws TimeoutError if no reply came within `timeout`. TimeoutError::sent() tells whether the
    // request was sent: the kernel may then still serve it, and its reply is dropped. Throws
    // StoppedError after a stop, OwnerGoneError if the kernel's process has ended, or the error
    // that ended the kernel (PersistentKernel::running).
    [[nodiscard]] Reply call(Given request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) requires(!replies_by_bytes) {
        return detail::in_call("Client::call", this, end_, [&] {
            return hot_call(*this, end_.request().wire(request), timeout, data);
        });
    }
    // Calls, and writes the reply of bytes to `reply`.
    void call(Given request, Room reply, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) requires replies_by_bytes {
        detail::in_call("Client::call", this, end_, [&] {
            auto const& asked = end_.request().wire(request);
            end_.reply().require_one(reply);
            end_.reply().put(hot_call(*this, asked, timeout, data), reply);
        });
    }

    // Touches the same code and data as a call, and sends nothing. The next call finds them in the
    // CPU's caches. Call it every few microseconds in the loop that waits for the next event. It
    // takes tens of nanoseconds and may be called between any two calls, also while replies are
    // outstanding. It does not throw if the kernel has ended.
    void warm() {
        return detail::in_call("Client::warm", this, end_, [&] {
            detail::cpu::prefetch_code(&hot_call, 16);  // cache lines of each, as GCC compiles it
            detail::cpu::prefetch_code(&hot_submit, 16);
            detail::cpu::prefetch_code(&hot_take, 8);
            end_.warm();
            end_.wait_style().warm();
        });
    }

    // Sends a request and returns its ticket. Returns nothing at once if the ring is full, or if
    // there is no room for one more outstanding reply.
    [[nodiscard]] std::optional<Ticket> try_submit(Given request,
                                                   OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::try_submit", this, end_, [&] {
            auto const sent = hot_submit(*this, end_.request().wire(request), data);
            return sent ? std::optional(end_.ticket(issuer_, *sent)) : std::nullopt;
        });
    }

    // Sends a request, waiting for room. Throws TimeoutError: the request was then not sent.
    [[nodiscard]] Ticket submit(Given request, std::chrono::nanoseconds timeout,
                                OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::submit", this, end_, [&] {
            auto const& asked = end_.request().wire(request);
            auto const sent = hot_submit(*this, asked, data);
            return end_.ticket(issuer_, sent ? *sent : this->submit_late(asked, timeout, data));
        });
    }

    // Sends the first of `requests`, as many as the channel has room for, and returns their
    // tickets. It issues one fence for all, two where the ring wraps, and one more for each further
    // 64 requests of bytes. `data` applies to all of them. Throws UsageError for a null pointer,
    // and for bytes that are not a whole number of requests.
    [[nodiscard]] Tickets try_submit_n(GivenRow requests,
                                       OutOfLine data = OutOfLine::none) requires by_channel {
        return detail::in_call("Client::try_submit_n", this, end_, [&] {
            end_.request().require(requests);
            return end_.request().send_row(requests,
                                           [&](auto row) { return this->submit_first(row, data); });
        });
    }

    // Sends all of `requests`, waiting for room. `sent` gets the tickets of the sent requests, also
    // if this throws. Throws TimeoutError: requests without a ticket in `sent` were not sent. No
    // replies are taken meanwhile, so at most capacity() requests can be outstanding.
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

    // Returns the reply to a request, or nothing if it has not arrived. Throws UsageError for
    // another client's ticket, and for a reply that was taken or given up already. Once the kernel
    // or its owner is known to have ended, throws what wait() throws: the reply will not come.
    [[nodiscard]] std::optional<Reply> try_take(Ticket const& ticket) requires(!replies_by_bytes) {
        return detail::in_call("Client::try_take", this, end_,
                               [&] { return this->take_now(this->valid(ticket)); });
    }

    // Writes the reply of bytes to `reply`; returns false if it has not arrived.
    [[nodiscard]] bool try_take(Ticket const& ticket, Room reply) requires replies_by_bytes {
        return detail::in_call("Client::try_take", this, end_, [&] {
            end_.reply().require_one(reply);
            auto const taken = this->take_now(this->valid(ticket));
            if (taken) end_.reply().put(*taken, reply);
            return taken.has_value();
        });
    }

    // Waits for the reply to a request and returns it. Throws UsageError, see try_take(), and what
    // call() throws; after a TimeoutError the ticket stays valid.
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

    // Takes the replies to the first of `tickets` into the first of `replies`, as many as have
    // arrived and fit, and returns how many. Removes their tickets from `tickets`, even if it
    // throws for the next one. Throws what try_take() throws, and UsageError for a null pointer.
    std::size_t try_take_n(Tickets& tickets, RoomForRow replies) requires by_channel {
        return detail::in_call("Client::try_take_n", this, end_, [&] {
            end_.reply().require(replies);
            return this->take_first(tickets, replies);
        });
    }

    // Takes the replies to all of `tickets`, waiting for those that have not arrived. Throws
    // UsageError if they do not fit into `replies`; after a TimeoutError the left tickets stay
    // valid.
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

    // Gives a reply up: it is dropped when it arrives. Throws UsageError, see try_take().
    void abandon(Ticket const& ticket) {
        return detail::in_call("Client::abandon", this, end_,
                               [&] { end_.abandon(this->valid(ticket)); });
    }

    // Whether the kernel has answered every request of this channel. Any thread may call this and
    // counters(), but no other member function.
    [[nodiscard]] bool all_answered() const requires(by_channel) {
        return detail::in_call("Client::all_answered", end_, [&] { return end_.all_answered(); });
    }
    // Counts the channel's messages. It reads nothing across the bus, and holds up no other call.
    [[nodiscard]] ChannelCounters counters() const requires(by_channel) {
        return detail::in_call("Client::counters", end_, [&] { return end_.counters(); });
    }
    // The number of requests that the channel has room for.
    [[nodiscard]] std::uint32_t capacity() const requires(by_channel) { return end_.capacity(); }
    // The bytes of each request, and of each reply, of a channel of bytes.
    [[nodiscard]] std::size_t request_bytes() const requires replies_by_bytes {
        return end_.request().bytes();
    }
    [[nodiscard]] std::size_t reply_bytes() const requires replies_by_bytes {
        return end_.reply().bytes();
    }
    // The device's ends of a channel: pass them to a kernel of your own by value, once. Throws
    // UsageError the second time, and for a PersistentKernel's client.
    [[nodiscard]] auto device_handle(CodeLocation const& where = CodeLocation::current()) const
        requires(by_channel && !replies_by_bytes) {
        return detail::in_call("Client::device_handle", [&] { return end_.device_handle(where); });
    }

   private:
    using Asked = typename detail::MessageOf<Request>::Wire;  // the types that the end moves
    using Answered = typename detail::MessageOf<Reply>::Wire;
    using Sent = typename End::Sent;  // names a request whose reply is outstanding

    // A call runs these three functions, besides the store itself and the clock. They have no code
    // for rare cases, and lie side by side where the linker keeps hot code. They are static because
    // warm() needs their addresses.

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

    // Waits for room; `timeout` gets the time that is left.
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
    // Sends as many requests as there is room for.
    [[nodiscard]] Tickets submit_first(std::span<Asked const> requests,
                                       OutOfLine data) requires(by_channel) {
        detail::Sequence const first = end_.next();
        return {issuer_, first, end_.try_submit_n(requests.data(), requests.size(), data)};
    }

    // Takes a reply if it has arrived. Throws the kernel's error if it cannot arrive any more.
    [[nodiscard]] std::optional<Answered> take_now(Sent const& sent) {
        detail::Packed<Answered> reply;
        if (!hot_take(*this, sent, reply) && !take_at_end(sent, reply)) return {};
        return detail::unpack<Answered>(reply);
    }
    // Takes a reply that arrived while the kernel ended, if the kernel is known to have ended.
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
    // Takes the replies that have arrived, and removes their tickets from `tickets`. If none has
    // arrived, throws what take_now() throws.
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
    // No watched line shows a credit, or a reply that was given up.
    static void const* nothing_watched() { return nullptr; }

    End end_;  // first, because every call reads it
    std::uint64_t issuer_ = detail::new_ticket_issuer();
};

// The client of a channel with one type of request and one of reply, at most 1 KiB each. It also
// serves a kernel of your own, without a PersistentKernel: make a Channel<Request, Reply>(device,
// capacity) and pass its device_handle() to the kernel.
template <class Request, class Reply>
using Channel = Client<Request, Reply>;

// The client for the messages of a handler. Commands of a table travel as packets.
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

    // Each command has its own type of reply: Done if the handler returns nothing. These five calls
    // are Client's. They also throw HandlerError if the handler refused; the reply is then taken.
    template <class Command>
    auto call(Command const& command, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) {
        return detail::in_call("Client::call", [&] {
            return reply_to<Command>(this->Base::call(Table::pack(command), timeout, data));
        });
    }
    // Returns nothing if there is no room. The ticket knows the reply's type.
    template <class Command>
    [[nodiscard]] std::optional<CommandTicket<Command>> try_submit(
        Command const& command, OutOfLine data = OutOfLine::none) {
        auto const ticket = Base::try_submit(Table::pack(command), data);
        if (!ticket) return {};
        return CommandTicket<Command>(*ticket);
    }
    // Sends a command, waiting for room. Throws TimeoutError: the command was then not sent.
    template <class Command>
    [[nodiscard]] CommandTicket<Command> submit(Command const& command,
                                                std::chrono::nanoseconds timeout,
                                                OutOfLine data = OutOfLine::none) {
        return CommandTicket<Command>(Base::submit(Table::pack(command), timeout, data));
    }
    // Returns the reply to a command, or nothing if it has not arrived. Throws HandlerError.
    template <class Command>
    [[nodiscard]] auto try_take(CommandTicket<Command> const& ticket) {
        return detail::in_call("Client::try_take", [&] {
            auto const reply = this->Base::try_take(ticket);
            return reply ? std::optional(reply_to<Command>(*reply)) : std::nullopt;
        });
    }
    // Waits for the reply and returns it. Throws HandlerError, and TimeoutError: the ticket stays
    // valid.
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

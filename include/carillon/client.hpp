// SPDX-License-Identifier: Apache-2.0
// The host's end of a kernel: sends requests to the device and takes the reply to each.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "carillon/commands.hpp"
#include "carillon/detail/host/channel_transport.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/host/time_over.hpp"
#include "carillon/detail/kernel/messages.hpp"
#include "carillon/detail/kernel/packet.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"
#include "carillon/ticket.hpp"

namespace carillon {

namespace detail {

// Another number for every client of this process: whose a ticket is.
[[nodiscard]] inline std::uint64_t new_ticket_issuer() {
    static std::atomic<std::uint64_t> last{0};
    // Relaxed: numbers have to differ, and nothing is published with one.
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Throws what a status that is not `answered` means: HandlerError, or UsageError for a command that
// the kernel does not know.
[[noreturn]] void throw_status(std::string_view call, std::uint32_t status, std::uint32_t code,
                               std::type_info const& command);

}  // namespace detail

// One thread at a time. A kernel's channels and pools give it: PersistentKernel::Client. That of a
// channel is neither copied nor moved: it numbers its requests, and two would number them apart.
// That of a pool is made and used by one thread; with it goes what is outstanding.
template <class Messages, class Transport>
class Client {
   public:
    // What travels: the handler's own types, or packets of a table of commands.
    using Request = typename Messages::Request;
    using Reply = typename Messages::Reply;  // the same, of the way back
    // Whether many go in one call: requests of one type, to a channel.
    static constexpr bool in_rows = Transport::is_channel && !Messages::has_commands;

    // An end of a transport that is made of these.
    template <class... End>
    requires std::constructible_from<Transport, End...>
    explicit Client(End&&... end) : transport_(std::forward<End>(end)...) {}

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
    [[nodiscard]] Reply call(Request const& request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Client::call";
        detail::OneThreadCall<> const one(this, call);
        auto sent = try_send(call, request, data);
        auto left = timeout;
        if (!sent) {
            Deadline const deadline(timeout);
            sent = send(call, request, timeout, data);
            left = deadline.left();
        }
        try {
            return await(call, *sent, left);
        } catch (...) {
            transport_.give_up(*sent);
            throw;
        }
    }

    // Sends a request and returns at once, or returns nothing when there is no room: in the ring,
    // or for one more reply that is outstanding.
    [[nodiscard]] std::optional<Ticket> try_submit(Request const& request,
                                                   OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Client::try_submit";
        detail::OneThreadCall<> const one(this, call);
        auto const sent = try_send(call, request, data);
        if (!sent) return {};
        return ticket(*sent);
    }

    // The same, waiting for room. Throws TimeoutError; the request was not sent then.
    [[nodiscard]] Ticket submit(Request const& request, std::chrono::nanoseconds timeout,
                                OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Client::submit";
        detail::OneThreadCall<> const one(this, call);
        return ticket(send(call, request, timeout, data));
    }

    // Of a channel: sends the first ones of `requests`, as many as there is room for, and returns
    // their tickets: with one fence for all of them, two where the ring begins anew. `data` is for
    // what any of them refers to. Throws UsageError for a null pointer to any.
    [[nodiscard]] Tickets try_submit_n(std::span<Request const> requests,
                                       OutOfLine data = OutOfLine::none) requires in_rows {
        constexpr std::string_view call = "Client::try_submit_n";
        detail::OneThreadCall<> const one(this, call);
        detail::require_messages(call, requests);
        return send_n(call, requests, data);
    }

    // The same for all of them, waiting for room. `sent` gets the tickets of what was sent, however
    // this ends. Throws TimeoutError: what `sent` lacks was not sent then. Nobody takes replies
    // meanwhile: beyond capacity() none is outstanding.
    void submit_n(std::span<Request const> requests, Tickets& sent,
                  std::chrono::nanoseconds timeout,
                  OutOfLine data = OutOfLine::none) requires in_rows {
        constexpr std::string_view call = "Client::submit_n";
        detail::OneThreadCall<> const one(this, call);
        detail::require_messages(call, requests);
        sent = {};
        auto const watched = [] { return nullptr; };
        auto const all_sent = [&] {
            sent.append(send_n(call, requests.subspan(sent.size()), data));
            return sent.size() == requests.size();
        };
        if (!wait_for(all_sent, watched, timeout, call))
            transport_.throw_not_all_sent(call, sent.size(), requests.size());
    }

    // The reply to a request, if it has come. Throws UsageError for a ticket of another client, and
    // when no reply is outstanding for it: it was taken or given up already.
    [[nodiscard]] std::optional<Reply> try_take(Ticket const& ticket) {
        constexpr std::string_view call = "Client::try_take";
        detail::OneThreadCall<> const one(this, call);
        auto const sent = valid(call, ticket);
        Packed<Reply> reply;
        if (!transport_.try_take(sent, reply)) return {};
        return unpack<Reply>(reply);
    }

    // The reply to a request, waiting for it. After a TimeoutError the ticket is still good.
    [[nodiscard]] Reply wait(Ticket const& ticket, std::chrono::nanoseconds timeout) {
        constexpr std::string_view call = "Client::wait";
        detail::OneThreadCall<> const one(this, call);
        return await(call, valid(call, ticket), timeout);
    }

    // Takes the replies to the first ones of `tickets` into the first ones of `replies`, as many as
    // have come and fit, and returns how many. Those tickets leave `tickets`, also where this
    // throws because the next one is good for nothing, as try_take does, or for a null pointer.
    std::size_t try_take_n(Tickets& tickets, std::span<Reply> replies) requires in_rows {
        constexpr std::string_view call = "Client::try_take_n";
        detail::OneThreadCall<> const one(this, call);
        mark_.require_own(call);
        detail::require_messages(call, replies);
        return receive_n(call, tickets, replies);
    }

    // The same for all of them, waiting for those that have not come: as many as `replies` has room
    // for, or UsageError. After a TimeoutError the tickets that are left are still good.
    void take_n(Tickets& tickets, std::span<Reply> replies,
                std::chrono::nanoseconds timeout) requires in_rows {
        constexpr std::string_view call = "Client::take_n";
        detail::OneThreadCall<> const one(this, call);
        mark_.require_own(call);
        detail::require_messages(call, replies);
        std::size_t const all = tickets.size();
        if (replies.size() < all) detail::throw_no_room_for_replies(call, replies.size(), all);
        auto const watched = [&] { return transport_.awaited(); };
        auto const all_taken = [&] {
            (void)receive_n(call, tickets, replies.subspan(all - tickets.size()));
            return tickets.empty();
        };
        if (!wait_for(all_taken, watched, timeout, call))
            detail::throw_not_all_taken(call, all - tickets.size(), all);
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(Ticket const& ticket) {
        constexpr std::string_view call = "Client::abandon";
        detail::OneThreadCall<> const one(this, call);
        transport_.give_up(valid(call, ticket));
    }

    // The same five for the commands of a table, each with its own type of reply: Done for a
    // handler that returns nothing. They throw HandlerError when the handler refused the command;
    // the reply is taken then.
    template <class Command>
    requires(Messages::has_commands) auto call(Command const& command,
                                               std::chrono::nanoseconds timeout,
                                               OutOfLine data = OutOfLine::none) {
        return reply_to<Command>("Client::call",
                                 call(Messages::Table::pack(command), timeout, data));
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
        Ticket const& plain = ticket;
        auto const reply = try_take(plain);
        using Typed = decltype(reply_to<Command>("", *reply));
        return reply ? std::optional<Typed>(reply_to<Command>("Client::try_take", *reply))
                     : std::nullopt;
    }
    // The reply to a command, waiting for it. Throws HandlerError, and TimeoutError: the ticket is
    // still good then.
    template <class Command>
    requires(Messages::has_commands) auto wait(CommandTicket<Command> const& ticket,
                                               std::chrono::nanoseconds timeout) {
        Ticket const& plain = ticket;
        return reply_to<Command>("Client::wait", wait(plain, timeout));
    }

    // Of a channel: whether the kernel has answered every request. Of a client's calls the only one
    // that any thread may make.
    [[nodiscard]] bool all_answered() const requires(Transport::is_channel) {
        mark_.require_own("Client::all_answered");
        return transport_.all_answered();
    }
    // Of a channel: how many requests have room.
    [[nodiscard]] std::uint32_t capacity() const requires(Transport::is_channel) {
        return transport_.capacity();
    }
    // The device's ends of a channel: pass them to a kernel that you write by value, once. Throws
    // UsageError the second time.
    [[nodiscard]] auto device_handle(CodeLocation const& where = CodeLocation::current()) const
        requires(Transport::is_channel) {
        return transport_.device_handle("Client::device_handle", where);
    }

   private:
    using Sent = typename Transport::Sent;  // names a request whose reply is outstanding

    [[nodiscard]] Ticket ticket(Sent const& sent) const {
        return {issuer_, transport_.number_of(sent), transport_.slot_of(sent)};
    }

    // What a ticket of this client names.
    [[nodiscard]] Sent valid(std::string_view call, Ticket const& ticket) {
        mark_.require_own(call);
        if (ticket.issuer() != issuer_) [[unlikely]]
            throw UsageError(call, "the ticket is another client's");
        return transport_.find(call, ticket.number(), ticket.slot());
    }

    // Of these three `call` is what the user called, for errors.
    [[nodiscard]] std::optional<Sent> try_send(std::string_view call, Request const& request,
                                               OutOfLine data) {
        mark_.require_own(call);
        transport_.require_open(call);
        return transport_.try_send(request, data);
    }

    [[nodiscard]] Sent send(std::string_view call, Request const& request,
                            std::chrono::nanoseconds timeout, OutOfLine data) {
        std::optional<Sent> number;
        auto const watched = [] { return nullptr; };  // a credit or a reply that was given up
        auto const sent = [&] { return (number = try_send(call, request, data)).has_value(); };
        if (!wait_for(sent, watched, timeout, call)) transport_.throw_not_sent(call);
        return *number;
    }

    [[nodiscard]] Tickets send_n(std::string_view call, std::span<Request const> requests,
                                 OutOfLine data) {
        mark_.require_own(call);
        transport_.require_open(call);
        Sent const first = transport_.next();
        return {issuer_, first, transport_.try_send_n(requests.data(), requests.size(), data)};
    }

    std::size_t receive_n(std::string_view call, Tickets& tickets, std::span<Reply> replies) {
        std::size_t taken = 0;
        Packed<Reply> reply;
        while (taken < replies.size() && !tickets.empty() &&
               transport_.try_take(valid(call, tickets[0]), reply)) {
            replies[taken++] = unpack<Reply>(reply);
            tickets = tickets.after(1);
        }
        return taken;
    }

    [[nodiscard]] Reply await(std::string_view call, Sent const& sent,
                              std::chrono::nanoseconds timeout) {
        Packed<Reply> reply;
        auto const watched = [&] { return transport_.awaited(); };
        auto const taken = [&] { return transport_.try_take(sent, reply); };
        if (!wait_for(taken, watched, timeout, call)) detail::throw_no_reply(call);
        return unpack<Reply>(reply);
    }

    template <class Poll, class Watched>
    bool wait_for(Poll&& poll, Watched&& watched, std::chrono::nanoseconds timeout,
                  std::string_view call) {
        return transport_.wait_style(call).until(poll, watched, timeout,
                                                 [&] { transport_.require_alive(call); });
    }

    template <class Command>
    [[nodiscard]] static auto reply_to(std::string_view call, Reply const& reply) {
        if (reply.kind != static_cast<std::uint32_t>(ReplyStatus::answered)) [[unlikely]]
            detail::throw_status(call, reply.kind, reply.word[0], typeid(Command));
        return detail::read_packet<typename Messages::template ReplyTo<Command>>(reply);
    }

    detail::ProcessMark mark_;
    std::uint64_t issuer_ = detail::new_ticket_issuer();
    Transport transport_;
};

// The client of a channel with one type of request and one of reply, at most 1 KiB each. By
// itself it serves a kernel that the user writes: Channel<Request, Reply>(device, capacity), and
// its device_handle() for the kernel.
template <class Request, class Reply>
using Channel =
    Client<detail::OneRequest<Request, Reply>, detail::ChannelTransport<Request, Reply>>;

}  // namespace carillon

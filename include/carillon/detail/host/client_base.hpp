// SPDX-License-Identifier: Apache-2.0
// What the calls of a client are made of.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "carillon/commands.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/time_over.hpp"
#include "carillon/detail/kernel/packet.hpp"
#include "carillon/detail/machine/prefetch.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"
#include "carillon/members.hpp"
#include "carillon/ticket.hpp"

namespace carillon::detail {

// Another number for every client of this process: whose a ticket is.
[[nodiscard]] inline std::uint64_t new_ticket_issuer() {
    static std::atomic<std::uint64_t> last{0};
    // Relaxed: numbers have to differ, and nothing is published with one.
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Throws what a status that is not `answered` means: HandlerError, or UsageError for a command that
// the kernel does not know. `command`: the mangled name of its type.
[[noreturn]] void throw_status(std::uint32_t status, std::uint32_t code, char const* command);

template <class Messages, class Transport>
class ClientBase {
   public:
    // As its transport.
    ClientBase(ClientBase&&) noexcept = default;
    ClientBase& operator=(ClientBase&&) = delete;
    ClientBase(ClientBase const&) = delete;
    ClientBase& operator=(ClientBase const&) = delete;
    ~ClientBase() = default;

   protected:
    // The messages as the transport moves them.
    using Request = typename MessageOf<typename Messages::Request>::Wire;
    using Reply = typename MessageOf<typename Messages::Reply>::Wire;
    using ReplyRow = typename MessageOf<typename Messages::Reply>::RoomForRow;
    using Sent = typename Transport::Sent;  // names a request whose reply is outstanding
    using Timeout = std::chrono::nanoseconds;

    template <class... End>
    requires std::constructible_from<Transport, End...>
    explicit ClientBase(End&&... end) : transport_(std::forward<End>(end)...) {}

    // What a call runs through, beside the store itself and the clock, is exchange(),
    // send_if_room() and take_if_come(): three pieces of code without what is rare, side by side
    // where the linker keeps hot code.

    // One round trip.
    [[gnu::noinline, gnu::hot, gnu::flatten]] static Reply exchange(ClientBase& client,
                                                                    Request const& request,
                                                                    Timeout timeout,
                                                                    OutOfLine data) {
        auto sent = send_if_room(client, request, data);
        if (!sent) [[unlikely]]
            sent = client.send_late(request, timeout, data);
        try {
            return client.await(*sent, timeout);
        } catch (...) {
            client.transport_.give_up(*sent);
            throw;
        }
    }

    // Sends if there is room.
    [[gnu::noinline, gnu::hot, gnu::flatten]] static std::optional<Sent> send_if_room(
        ClientBase& client, Request const& request, OutOfLine data) {
        return client.transport_.try_send(request, data);
    }

    // Takes a reply if it has come.
    [[gnu::noinline, gnu::hot, gnu::flatten]] static bool take_if_come(ClientBase& client,
                                                                       Sent const& sent,
                                                                       Packed<Reply>& reply) {
        return client.transport_.try_take(sent, reply);
    }

    // The same. Throws what ended the kernel where the reply cannot come any more.
    [[nodiscard]] bool take_now(Sent const& sent, Packed<Reply>& reply) {
        return take_if_come(*this, sent, reply) || take_at_end(sent, reply);
    }
    // What has come beside the end, where that is known.
    [[nodiscard]] bool take_at_end(Sent const& sent, Packed<Reply>& reply) {
        return !transport_.answers() && take_last(sent, reply);
    }
    [[gnu::noinline, gnu::cold]] bool take_last(Sent const& sent, Packed<Reply>& reply) {
        try {
            transport_.require_alive();
        } catch (...) {
            if (take_if_come(*this, sent, reply)) return true;
            throw;
        }
        return take_if_come(*this, sent, reply);
    }

    // All that exchange() does but for sending, and taking.
    void warm_up() {
        cpu::prefetch_code(&exchange, 16);  // lines of each, as GCC compiles it
        cpu::prefetch_code(&send_if_room, 16);
        cpu::prefetch_code(&take_if_come, 8);
        transport_.warm();
        transport_.wait_style().warm();
    }

    [[nodiscard]] Ticket ticket(Sent const& sent) const {
        return {issuer_, transport_.number_of(sent), transport_.slot_of(sent)};
    }

    // What a ticket of this client names.
    [[nodiscard]] Sent valid(Ticket const& ticket) {
        if (ticket.issuer() != issuer_) [[unlikely]]
            throw UsageError("the ticket is another client's");
        return transport_.find(ticket.number(), ticket.slot());
    }

    [[nodiscard]] Sent send(Request const& request, Timeout timeout, OutOfLine data) {
        auto const sent = send_if_room(*this, request, data);
        return sent ? *sent : send_late(request, timeout, data);
    }

    // Waits for room; `timeout` gets what is left of it.
    [[gnu::noinline, gnu::cold]] Sent send_late(Request const& request, Timeout& timeout,
                                                OutOfLine data) {
        Deadline const deadline(timeout);
        std::optional<Sent> sent;
        auto const poll = [&] { return (sent = send_if_room(*this, request, data)).has_value(); };
        if (!wait_for(poll, nothing_watched, timeout)) transport_.throw_not_sent();
        timeout = deadline.left();
        return *sent;
    }

    // Those that there is room for.
    [[nodiscard]] Tickets send_n(std::span<Request const> requests, OutOfLine data) {
        Sent const first = transport_.next();
        return {issuer_, first, transport_.try_send_n(requests.data(), requests.size(), data)};
    }

    [[nodiscard]] Reply await(Sent const& sent, Timeout timeout) {
        Packed<Reply> reply;
        auto const watched = [&] { return transport_.awaited(); };
        auto const taken = [&] { return take_if_come(*this, sent, reply); };
        if (!wait_for(taken, watched, timeout)) throw_no_reply();
        return unpack<Reply>(reply);
    }

    // Those that have come; their tickets leave `tickets`. Throws as take_now() where none has.
    std::size_t receive_n(Tickets& tickets, ReplyRow replies) {
        std::size_t const room = transport_.reply().count(replies);
        std::size_t taken = 0;
        Packed<Reply> reply;
        while (taken < room && !tickets.empty()) {
            auto const sent = valid(tickets[0]);
            if (!transport_.try_take(sent, reply) && (taken != 0 || !take_at_end(sent, reply))) {
                break;
            }
            transport_.reply().put(unpack<Reply>(reply), replies, taken++);
            tickets = tickets.after(1);
        }
        return taken;
    }

    template <class Poll, class Watched>
    bool wait_for(Poll&& poll, Watched&& watched, Timeout timeout) {
        return transport_.wait_style().until(poll, watched, timeout,
                                             [&] { transport_.require_alive(); });
    }
    // What a credit, or a reply that was given up, comes in.
    static void const* nothing_watched() { return nullptr; }

    template <class Command>
    [[nodiscard]] static auto reply_to(Reply const& reply) {
        if (reply.kind != static_cast<std::uint32_t>(ReplyStatus::answered)) [[unlikely]]
            throw_status(reply.kind, reply.word[0], mangled_name<Command>());
        return read_packet<typename Messages::template ReplyTo<Command>>(reply);
    }

    Transport transport_;  // what every call looks at first
    std::uint64_t issuer_ = new_ticket_issuer();
};

}  // namespace carillon::detail

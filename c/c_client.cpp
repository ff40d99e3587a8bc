// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <string>

#include "carillon/commands.hpp"
#include "handles.hpp"

namespace carillon::c {
namespace {

carillon_client_info info_of(carillon_client::Client const& client) {
    ChannelCounters const counters = client.counters();
    carillon_client_info info{};
    info.request_bytes = static_cast<std::uint32_t>(client.request_bytes());
    info.reply_bytes = static_cast<std::uint32_t>(client.reply_bytes());
    info.capacity = client.capacity();
    info.depth = counters.depth;
    info.submitted = counters.submitted;
    info.answered = counters.answered;
    info.taken = counters.taken;
    info.dropped = counters.dropped;
    info.stalls = counters.stalls;
    return info;
}

// A message of a kernel with a table of commands: a word, and the command or its reply.
using Word = std::uint32_t;
using Packet = std::array<std::byte, 1024>;

// Throws UsageError for more bytes than a message of `message` bytes has beside its word.
void require_beside_word(std::string_view what, std::size_t bytes, std::size_t message) {
    std::size_t const room = message < sizeof(Word) ? 0 : message - sizeof(Word);
    if (message >= sizeof(Word) && bytes <= room) return;
    throw UsageError(fmt::format("a {} of {} bytes is too long: this channel has room for {}", what,
                                 bytes, room));
}

// Throws HandlerError for a command that was refused, UsageError for one that is unknown.
void require_answered(Word opcode, Packet const& reply) {
    Word words[2];
    std::memcpy(words, reply.data(), sizeof(words));
    if (words[0] == static_cast<Word>(ReplyStatus::answered)) return;
    std::string const command = fmt::format("opcode {}", opcode);
    if (words[0] == static_cast<Word>(ReplyStatus::refused)) {
        throw HandlerError(command, words[1]);
    }
    throw UsageError(fmt::format("the kernel has no command with the {}", command));
}

}  // namespace
}  // namespace carillon::c

namespace c = carillon::c;

extern "C" {

carillon_status carillon_kernel_client(carillon_kernel* kernel, uint32_t block,
                                       carillon_client** client) {
    return c::open("carillon_kernel_client", client, [&] {
        auto const& of = c::checked(kernel, "kernel").kernel;
        return carillon_client{of, &of->client(block)};
    });
}
carillon_status carillon_connection_client(carillon_connection const* connection,
                                           char const* object, carillon_type request,
                                           carillon_type reply, carillon_client** client) {
    return c::open("carillon_connection_client", client, [&] {
        return carillon_client{nullptr, nullptr,
                               std::unique_ptr<carillon_client::Client>(new auto(
                                   c::checked(connection, "connection")
                                       .connection.channel<carillon::Bytes, carillon::Bytes>(
                                           object == nullptr ? "kernel" : object,
                                           c::type_of(request), c::type_of(reply))))};
    });
}
void carillon_client_close(carillon_client** client) { c::close(client); }

carillon_status carillon_client_get_info(carillon_client const* client,
                                         carillon_client_info* info) {
    return c::guarded("carillon_client_get_info",
                      [&] { c::tell(c::info_of(c::checked(client, "client").client()), info); });
}

carillon_status carillon_client_call(carillon_client* client, void const* request,
                                     size_t request_bytes, void* reply, size_t reply_bytes,
                                     int64_t timeout_ns, int out_of_line) {
    return c::guarded("carillon_client_call", [&] {
        c::checked(client, "client")
            .client()
            .call(c::bytes_at(request, request_bytes), c::room_at(reply, reply_bytes),
                  std::chrono::nanoseconds(timeout_ns), c::out_of_line(out_of_line));
    });
}

carillon_status carillon_client_command(carillon_client* client, uint32_t opcode,
                                        void const* command, size_t command_bytes, void* reply,
                                        size_t reply_bytes, int64_t timeout_ns, int out_of_line) {
    return c::guarded("carillon_client_command", [&] {
        auto& of = c::checked(client, "client").client();
        auto const from = c::bytes_at(command, command_bytes);
        auto const to = c::room_at(reply, reply_bytes);
        c::require_beside_word("command", command_bytes, of.request_bytes());
        c::require_beside_word("reply", reply_bytes, of.reply_bytes());
        c::Packet sent{};
        c::Packet taken{};
        std::memcpy(sent.data(), &opcode, sizeof(opcode));
        std::copy(from.begin(), from.end(), sent.data() + sizeof(opcode));
        of.call(std::span(sent).first(of.request_bytes()), std::span(taken).first(of.reply_bytes()),
                std::chrono::nanoseconds(timeout_ns), c::out_of_line(out_of_line));
        c::require_answered(opcode, taken);
        std::copy_n(taken.data() + sizeof(opcode), to.size(), to.data());
    });
}

carillon_status carillon_client_submit(carillon_client* client, void const* request,
                                       size_t request_bytes, int64_t timeout_ns, int out_of_line,
                                       carillon_ticket* ticket) {
    return c::guarded("carillon_client_submit", [&] {
        (void)c::checked(ticket, "output for the ticket");
        auto& of = c::checked(client, "client").client();
        auto const bytes = c::bytes_at(request, request_bytes);
        auto const data = c::out_of_line(out_of_line);
        auto const sent =
            timeout_ns == 0
                ? of.try_submit(bytes, data)
                : std::optional(of.submit(bytes, std::chrono::nanoseconds(timeout_ns), data));
        if (sent) *ticket = {sent->issuer(), sent->number()};
        return c::now(sent.has_value());
    });
}

carillon_status carillon_client_submit_n(carillon_client* client, void const* requests,
                                         size_t request_bytes, size_t count, int out_of_line,
                                         carillon_ticket* ticket, size_t* sent) {
    return c::guarded("carillon_client_submit_n", [&] {
        c::checked(sent, "output for the count") = 0;
        (void)c::checked(ticket, "output for the ticket");
        auto& of = c::checked(client, "client").client();
        c::require_size(request_bytes, of.request_bytes());
        carillon::Tickets const tickets =
            of.try_submit_n(c::bytes_at(requests, c::bytes_of_all(request_bytes, count)),
                            c::out_of_line(out_of_line));
        if (!tickets.empty()) *ticket = {tickets[0].issuer(), tickets[0].number()};
        *sent = tickets.size();
        return c::now(count == 0 || *sent != 0);
    });
}

carillon_status carillon_client_take(carillon_client* client, carillon_ticket ticket, void* reply,
                                     size_t reply_bytes, int64_t timeout_ns) {
    return c::guarded("carillon_client_take", [&] {
        auto& of = c::checked(client, "client").client();
        auto const room = c::room_at(reply, reply_bytes);
        carillon::Ticket const named(ticket.issuer, ticket.number);
        if (timeout_ns == 0) return c::now(of.try_take(named, room));
        of.wait(named, room, std::chrono::nanoseconds(timeout_ns));
        return c::now(true);
    });
}

carillon_status carillon_client_abandon(carillon_client* client, carillon_ticket ticket) {
    return c::guarded("carillon_client_abandon", [&] {
        c::checked(client, "client")
            .client()
            .abandon(carillon::Ticket(ticket.issuer, ticket.number));
    });
}

carillon_status carillon_client_warm(carillon_client* client) {
    return c::guarded("carillon_client_warm",
                      [&] { c::checked(client, "client").client().warm(); });
}

}  // extern "C"

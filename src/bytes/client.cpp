// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "bytes/bytes_channel.hpp"
#include "carillon/bytes.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/owned.hpp"

namespace carillon {
namespace {

constexpr std::string_view call_of_bytes_client = "BytesClient";
// So many requests leave with one fence.
constexpr std::size_t requests_at_once = 64;

std::unique_ptr<detail::BytesChannel> attach_bytes(Connection const& connection,
                                                   BytesType const& request, BytesType const& reply,
                                                   std::string_view object) {
    detail::MessageTypes const types{detail::message_type(call_of_bytes_client, "request", request),
                                     detail::message_type(call_of_bytes_client, "reply", reply)};
    return std::make_unique<detail::BytesChannel>(
        detail::ByteShape{request.bytes}, detail::ByteShape{reply.bytes},
        detail::BytesAttach::channel(connection, object, types));
}

// The first of `requests`, as the ends take them.
std::span<detail::MessageAt const> first_of(std::span<std::byte const> requests, std::size_t bytes,
                                            std::span<detail::MessageAt> into) {
    std::size_t const count = std::min(requests.size() / bytes, into.size());
    for (std::size_t i = 0; i < count; ++i) into[i].where = requests.data() + i * bytes;
    return into.first(count);
}

}  // namespace

BytesClient::BytesClient(Connection const& connection, BytesType const& request,
                         BytesType const& reply, NameArgument object)
    : channel_(attach_bytes(connection, request, reply, object)) {}
BytesClient::BytesClient(std::unique_ptr<detail::BytesChannel> channel)
    : channel_(std::move(channel)) {}
BytesClient::BytesClient(BytesClient&&) noexcept = default;
BytesClient& BytesClient::operator=(BytesClient&&) noexcept = default;
BytesClient::~BytesClient() = default;

detail::BytesChannel& BytesClient::channel(std::string_view call) const {
    return detail::owned(channel_, call);
}

void BytesClient::call(std::span<std::byte const> request, std::span<std::byte> reply,
                       std::chrono::nanoseconds timeout, OutOfLine data) {
    constexpr std::string_view call = "BytesClient::call";
    detail::BytesChannel& channel = this->channel(call);
    detail::MessageAt const message = channel.checked(call, request);
    channel.require_reply(call, reply);
    channel.copy(channel.ends().call(message, timeout, data), reply.data());
}

void BytesClient::warm() { channel("BytesClient::warm").ends().warm(); }

std::optional<Ticket> BytesClient::try_submit(std::span<std::byte const> request, OutOfLine data) {
    constexpr std::string_view call = "BytesClient::try_submit";
    detail::BytesChannel& channel = this->channel(call);
    return channel.ends().try_submit(channel.checked(call, request), data);
}

Ticket BytesClient::submit(std::span<std::byte const> request, std::chrono::nanoseconds timeout,
                           OutOfLine data) {
    constexpr std::string_view call = "BytesClient::submit";
    detail::BytesChannel& channel = this->channel(call);
    return channel.ends().submit(channel.checked(call, request), timeout, data);
}

Tickets BytesClient::try_submit_n(std::span<std::byte const> requests, OutOfLine data) {
    constexpr std::string_view call = "BytesClient::try_submit_n";
    detail::BytesChannel& channel = this->channel(call);
    std::size_t const bytes = channel.request().bytes;
    std::size_t left = detail::require_whole(call, "request", requests, channel.request());
    Tickets sent;
    while (left != 0) {
        std::array<detail::MessageAt, requests_at_once> messages;
        auto const next = first_of(requests.last(left * bytes), bytes, messages);
        Tickets const now = channel.ends().try_submit_n(next, data);
        sent.append(now);
        left -= now.size();
        if (now.size() < next.size()) break;
    }
    return sent;
}

void BytesClient::submit_n(std::span<std::byte const> requests, Tickets& sent,
                           std::chrono::nanoseconds timeout, OutOfLine data) {
    constexpr std::string_view call = "BytesClient::submit_n";
    detail::BytesChannel& channel = this->channel(call);
    std::size_t const bytes = channel.request().bytes;
    std::size_t left = detail::require_whole(call, "request", requests, channel.request());
    detail::Deadline const deadline(timeout);
    sent = {};
    while (left != 0) {
        std::array<detail::MessageAt, requests_at_once> messages;
        auto const next = first_of(requests.last(left * bytes), bytes, messages);
        Tickets now;
        try {
            channel.ends().submit_n(next, now, deadline.left(), data);
        } catch (...) {
            sent.append(now);
            throw;
        }
        sent.append(now);
        left -= now.size();
    }
}

bool BytesClient::try_take(Ticket const& ticket, std::span<std::byte> reply) {
    constexpr std::string_view call = "BytesClient::try_take";
    detail::BytesChannel& channel = this->channel(call);
    channel.require_reply(call, reply);
    auto const taken = channel.ends().try_take(ticket);
    if (taken) channel.copy(*taken, reply.data());
    return taken.has_value();
}

void BytesClient::wait(Ticket const& ticket, std::span<std::byte> reply,
                       std::chrono::nanoseconds timeout) {
    constexpr std::string_view call = "BytesClient::wait";
    detail::BytesChannel& channel = this->channel(call);
    channel.require_reply(call, reply);
    channel.copy(channel.ends().wait(ticket, timeout), reply.data());
}

std::size_t BytesClient::try_take_n(Tickets& tickets, std::span<std::byte> replies) {
    constexpr std::string_view call = "BytesClient::try_take_n";
    detail::BytesChannel& channel = this->channel(call);
    std::size_t const bytes = channel.reply().bytes;
    std::size_t const room = detail::require_whole(call, "reply", replies, channel.reply());
    std::size_t taken = 0;
    while (taken < room && !tickets.empty()) {
        std::optional<detail::MessageAt> reply;
        try {
            reply = channel.ends().try_take(tickets[0]);
        } catch (...) {  // those that were taken are given first
            if (taken == 0) throw;
        }
        if (!reply) break;
        channel.copy(*reply, replies.data() + bytes * taken++);
        tickets = tickets.after(1);
    }
    return taken;
}

void BytesClient::abandon(Ticket const& ticket) {
    channel("BytesClient::abandon").ends().abandon(ticket);
}

bool BytesClient::all_answered() const {
    return channel("BytesClient::all_answered").ends().all_answered();
}
ChannelCounters BytesClient::counters() const {
    return channel("BytesClient::counters").ends().counters();
}
std::uint32_t BytesClient::capacity() const {
    return channel("BytesClient::capacity").ends().capacity();
}
std::size_t BytesClient::request_bytes() const {
    return channel("BytesClient::request_bytes").request().bytes;
}
std::size_t BytesClient::reply_bytes() const {
    return channel("BytesClient::reply_bytes").reply().bytes;
}

}  // namespace carillon

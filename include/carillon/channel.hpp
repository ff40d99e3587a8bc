// SPDX-License-Identifier: Apache-2.0
// A channel: requests to the device, a reply to each, in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/ticket.hpp"
#include "carillon/wait.hpp"

namespace carillon {

// What a channel asks about the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // Throws StoppedError when no request is taken any more, and what ended the kernel. One cached
    // load: it is made on every request.
    virtual void require_open(std::string_view call) const = 0;
    // Throws StoppedError, or what ended it, when the kernel has ended. Called from long waits.
    virtual void require_alive(std::string_view call) = 0;
};

// One thread at a time. Requests and replies are trivially copyable and at most 48 bytes. Neither
// copied nor moved: it numbers its requests, and two would number them apart.
template <class Request, class Reply>
class Channel {
   public:
    // Channel `index` of `memory`, the device's. `peer` may be nullptr: nobody watches the kernel
    // then. `bell` is what to ring, on the host, for a block that watches many channels; or
    // nullptr.
    Channel(Device const& device, std::shared_ptr<ChannelMemory> memory, unsigned index,
            HostWait wait, std::shared_ptr<ChannelPeer> peer = nullptr,
            std::uint64_t* bell = nullptr)
        : memory_(detail::checked_memory("Channel", device, std::move(memory), index)),
          index_(index),
          peer_(std::move(peer)),
          wait_(wait),
          ends_(view().requests, view().replies, HostCached(),
                device.access(memory_->device_memory()), bell) {}

    // A channel to a kernel that the user writes.
    explicit Channel(Device const& device, std::uint32_t capacity = 256)
        : Channel(device, std::make_shared<ChannelMemory>(device, 1, capacity), 0,
                  HostWait::for_kernel(device.traits().shares_processors, 1)) {}

    Channel(Channel const&) = delete;
    Channel& operator=(Channel const&) = delete;

    // The device's ends: pass them to a kernel by value, once. Throws UsageError the second time.
    [[nodiscard]] DeviceChannel<Request, Reply> device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        taken_.take("Channel::device_handle", where);
        ChannelView const device = memory_->on_device().channel(index_);
        return {device.requests, device.replies};
    }

    // Sends a request and waits for its reply: one round trip over the bus. Throws TimeoutError
    // when none came within `timeout`, which says whether the request was sent: it may still be
    // served then, and its reply is dropped. Throws StoppedError after a stop, CudaError when the
    // kernel died. `data` says that the request refers to device memory that the caller has
    // written (Memory::host).
    [[nodiscard]] Reply call(Request const& request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Channel::call";
        detail::OneThreadCall<> const one(this, call);
        auto number = try_send(call, request, data);
        auto left = timeout;
        if (!number) {
            Deadline const deadline(timeout);
            number = send(call, request, timeout, data);
            left = deadline.left();
        }
        try {
            return await(call, *number, left);
        } catch (...) {
            ends_.abandon(*number);
            throw;
        }
    }

    // Sends a request and returns at once, or returns nothing when as many replies are
    // outstanding as the channel has slots.
    [[nodiscard]] std::optional<Ticket> try_submit(Request const& request,
                                                   OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Channel::try_submit";
        detail::OneThreadCall<> const one(this, call);
        auto const number = try_send(call, request, data);
        if (!number) return {};
        return Ticket(issuer_, *number);
    }

    // The same, waiting for room. Throws TimeoutError; the request was not sent then.
    [[nodiscard]] Ticket submit(Request const& request, std::chrono::nanoseconds timeout,
                                OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "Channel::submit";
        detail::OneThreadCall<> const one(this, call);
        return {issuer_, send(call, request, timeout, data)};
    }

    // The reply to a request, if it has come. Throws UsageError for a ticket of another channel,
    // and when no reply is outstanding for it: it was taken or given up already.
    [[nodiscard]] std::optional<Reply> try_take(Ticket ticket) {
        constexpr std::string_view call = "Channel::try_take";
        detail::OneThreadCall<> const one(this, call);
        Sequence const number = valid(call, ticket);
        Line line;
        if (!ends_.try_take(number, line)) return {};
        return unpack<Reply>(line);
    }

    // The reply to a request, waiting for it. After a TimeoutError the ticket is still good.
    [[nodiscard]] Reply wait(Ticket ticket, std::chrono::nanoseconds timeout) {
        constexpr std::string_view call = "Channel::wait";
        detail::OneThreadCall<> const one(this, call);
        return await(call, valid(call, ticket), timeout);
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(Ticket ticket) {
        constexpr std::string_view call = "Channel::abandon";
        detail::OneThreadCall<> const one(this, call);
        ends_.abandon(valid(call, ticket));
    }

    // Whether the kernel has answered every request; of this channel's calls the only one that any
    // thread may make.
    [[nodiscard]] bool all_answered() const {
        mark_.require_own("Channel::all_answered");
        return ends_.all_answered();
    }

    [[nodiscard]] std::uint32_t capacity() const { return memory_->capacity(); }

   private:
    [[nodiscard]] ChannelView view() const { return memory_->on_host().channel(index_); }

    // The number of the request that a ticket of this channel names.
    [[nodiscard]] Sequence valid(std::string_view call, Ticket ticket) {
        mark_.require_own(call);
        if (ticket.issuer() != issuer_) [[unlikely]]
            throw UsageError(call, "the ticket is another channel's");
        ends_.require_valid(call, ticket.sequence());
        return ticket.sequence();
    }

    // Of these three `call` is what the user called, for errors.
    [[nodiscard]] std::optional<Sequence> try_send(std::string_view call, Request const& request,
                                                   OutOfLine data) {
        mark_.require_own(call);
        if (peer_) peer_->require_open(call);
        return ends_.try_submit(request, data);
    }

    [[nodiscard]] Sequence send(std::string_view call, Request const& request,
                                std::chrono::nanoseconds timeout, OutOfLine data) {
        std::optional<Sequence> number;
        auto const watched = [] { return nullptr; };  // a credit or a reply that was given up
        auto const sent = [&] { return (number = try_send(call, request, data)).has_value(); };
        if (!wait_for(sent, watched, timeout, call)) {
            detail::throw_not_sent(call, detail::NoRoom::channel, capacity());
        }
        return *number;
    }

    [[nodiscard]] Reply await(std::string_view call, Sequence number,
                              std::chrono::nanoseconds timeout) {
        Line line;
        auto const watched = [&] { return ends_.awaited(); };
        auto const taken = [&] { return ends_.try_take(number, line); };
        if (!wait_for(taken, watched, timeout, call)) detail::throw_no_reply(call);
        return unpack<Reply>(line);
    }

    template <class Poll, class Watched>
    bool wait_for(Poll&& poll, Watched&& watched, std::chrono::nanoseconds timeout,
                  std::string_view call) {
        return wait_.until(poll, watched, timeout, [&] {
            if (peer_) peer_->require_alive(call);
        });
    }

    std::shared_ptr<ChannelMemory> memory_;
    unsigned index_;
    detail::ProcessMark mark_;
    std::uint64_t issuer_ = detail::new_ticket_issuer();
    std::shared_ptr<ChannelPeer> peer_;
    HostWait wait_;
    HostChannel<Request, Reply, HostCached, HostMapped> ends_;
    mutable detail::TakenOnce taken_;
};

}  // namespace carillon

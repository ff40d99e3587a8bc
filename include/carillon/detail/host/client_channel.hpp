// SPDX-License-Identifier: Apache-2.0
// The end of a `Client` with its own channel, whose requests and replies travel in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/ticket.hpp"
#include "carillon/wait.hpp"

namespace carillon {
struct Channels;  // kernel_options.hpp
}  // namespace carillon

namespace carillon::detail {

// A Client's end: a call sends and takes through it. Each way has its own.
template <class Way, class Request, class Reply>
class ClientEnd;

// The kernel as a channel's client knows it. Every call reads it first.
class KernelOfClient {
   public:
    // `kernel`: nullptr if nobody watches it.
    KernelOfClient(HostWait wait, ChannelPeer* kernel) : wait_(wait), kernel_(kernel) {}

    void require_own() const { mark_.require_own(); }
    [[nodiscard]] HostWait const& wait_style() const { return wait_; }
    [[nodiscard]] bool answers() const { return kernel_ == nullptr || kernel_->answers(); }
    void require_open() const {
        // Relaxed: for a state other than `running`, the kernel's mutex orders what follows.
        if (kernel_ != nullptr && kernel_->state_word().load(std::memory_order_relaxed) !=
                                      KernelState::running) [[unlikely]]
            kernel_->require_open();
    }
    void require_alive() const {
        if (kernel_ != nullptr) kernel_->require_alive();
    }
    void warm() const {
        if (kernel_ != nullptr) cpu::prefetch(&kernel_->state_word());
    }

   private:
    ProcessMark mark_;
    HostWait wait_;
    ChannelPeer* kernel_;
};

template <class Request, class Reply>
using ClientChannel =
    HostChannel<typename MessageOf<Request>::Wire, typename MessageOf<Reply>::Wire,
                typename MessageOf<Reply>::Near, typename MessageOf<Request>::Far, KernelOfClient>;

// The end for Channels. Neither copied nor moved.
template <class Request, class Reply>
class alignas(64) ClientEnd<Channels, Request, Reply> : public ClientChannel<Request, Reply> {
    using Base = ClientChannel<Request, Reply>;

   public:
    using Sent = Sequence;

    explicit ClientEnd(ChannelParts parts, MessageOf<Request> const& request = {},
                       MessageOf<Reply> const& reply = {})
        : Base(parts.view.requests, parts.view.replies, reply.near(), request.far(parts.far),
               parts.doorbell, parts.counters, parts.served_by,
               KernelOfClient(parts.wait, parts.kernel.get())),
          parts_(std::move(parts)),
          request_(request),
          reply_(reply) {
        if (parts_.lease == nullptr) return;
        parts_.lease->ask(
            [](void const* end) { return static_cast<ClientEnd const*>(end)->all_answered(); },
            this);
    }
    ~ClientEnd() {
        if (parts_.lease != nullptr) parts_.lease->ask(nullptr, nullptr);
    }

    // Channel `index` of the device's `memory`. `kernel`: nullptr if nobody watches it. `doorbell`:
    // the host's address of the doorbell of a block that watches many channels; or nullptr.
    ClientEnd(Device const& device, std::shared_ptr<ChannelMemory> memory, unsigned index,
              HostWait wait, std::shared_ptr<ChannelPeer> kernel = nullptr,
              std::uint64_t* doorbell = nullptr, MessageOf<Request> const& request = {},
              MessageOf<Reply> const& reply = {})
        : ClientEnd(own_channel(device, std::move(memory), index,
                                ChannelShape{0, request.slot_lines(), reply.slot_lines()}, wait,
                                std::move(kernel), doorbell),
                    request, reply) {}

    // The channel of a kernel of the user's own, which has types.
    explicit ClientEnd(Device const& device,
                       std::uint32_t capacity = 256) requires(!IsBytes<Request> && !IsBytes<Reply>)
        : ClientEnd(own_channel(device, ChannelShape::of<Request, Reply>(capacity))) {}

    [[nodiscard]] DeviceChannel<Request, Reply> device_handle(CodeLocation const& where) const {
        ChannelView const device = device_channel(parts_);
        taken_.take("Client::device_handle", where, {device.requests.base, device.requests.credit},
                    {device.replies.base, device.replies.credit});
        return {device.requests, device.replies};
    }

    [[nodiscard]] MessageOf<Request> const& request() const { return request_; }
    [[nodiscard]] MessageOf<Reply> const& reply() const { return reply_; }

    [[nodiscard]] static Ticket ticket(std::uint64_t issuer, Sent number) {
        return {issuer, number};
    }
    // Throws UsageError if no reply is outstanding for the ticket.
    [[nodiscard]] Sent find(Ticket const& ticket) {
        this->require_valid(ticket.number());
        return ticket.number();
    }
    [[noreturn]] void throw_not_sent() const {
        detail::throw_not_sent(NoRoom::channel, this->capacity(), this->untaken());
    }
    [[noreturn]] void throw_not_all_sent(std::size_t sent, std::size_t all) const {
        detail::throw_not_all_sent(sent, all, this->capacity(), this->untaken());
    }

    // Any thread may call it.
    [[nodiscard]] ChannelCounters counters() const {
        return read_counters(parts_.view.replies, *parts_.counters, parts_.served_by);
    }

   private:
    // calls do not read it
    ChannelParts parts_;
    [[no_unique_address]] MessageOf<Request> request_;
    [[no_unique_address]] MessageOf<Reply> reply_;
    mutable TakenOnce taken_;
};

}  // namespace carillon::detail

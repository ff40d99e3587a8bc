// SPDX-License-Identifier: Apache-2.0
// How a client's requests travel through a channel of its own, and their replies, in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "carillon/channel_memory.hpp"
#include "carillon/counters.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/host/time_over.hpp"
#include "carillon/detail/machine/prefetch.hpp"
#include "carillon/detail/protocol/counter_words.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {

// Neither copied nor moved.
template <class Request, class Reply>
class alignas(64) ChannelTransport {
    using Asked = typename MessageOf<Request>::Wire;
    using Answered = typename MessageOf<Reply>::Wire;

   public:
    static constexpr bool is_channel = true;
    static constexpr bool typed = !IsBytes<Request> && !IsBytes<Reply>;
    using Sent = Sequence;

    // Channel `index` of `memory`, the device's. `peer` may be nullptr: nobody watches the kernel
    // then. `doorbell` is what to ring, on the host, for a block that watches many channels; or
    // nullptr.
    ChannelTransport(Device const& device, std::shared_ptr<ChannelMemory> memory, unsigned index,
                     HostWait wait, std::shared_ptr<ChannelPeer> peer = nullptr,
                     std::uint64_t* doorbell = nullptr, MessageOf<Request> const& request = {},
                     MessageOf<Reply> const& reply = {})
        : wait_(wait),
          kernel_state_(peer ? &peer->state_word() : nullptr),
          ends_(make_ends(device,
                          *checked_memory(device, memory, index,
                                          ChannelShape{0, request.slot_lines(), reply.slot_lines()},
                                          peer != nullptr),
                          index, doorbell, request, reply)),
          memory_(std::move(memory)),
          index_(index),
          request_(request),
          reply_(reply),
          peer_(std::move(peer)) {}

    // Of another process's kernel.
    explicit ChannelTransport(LeasedChannel const& channel, MessageOf<Request> const& request = {},
                              MessageOf<Reply> const& reply = {})
        : wait_(channel.wait),
          kernel_state_(&channel.lease->state_word()),
          ends_(channel.view.requests, channel.view.replies, reply.near(), request.far(channel.far),
                nullptr, channel.counters, channel.served_by),
          request_(request),
          reply_(reply),
          leased_{channel.view.replies, channel.counters, channel.served_by},
          peer_(channel.lease),
          asked_(channel.lease, [this] { return ends_.all_answered(); }) {}

    // For a kernel that the user writes, which has types.
    explicit ChannelTransport(Device const& device, std::uint32_t capacity = 256) requires typed
        : ChannelTransport(device,
                           std::make_shared<ChannelMemory>(
                               device, 1, ChannelShape::of<Request, Reply>(capacity)),
                           0, HostWait::for_kernel(device.traits(), 1)) {}

    ChannelTransport(ChannelTransport const&) = delete;
    ChannelTransport& operator=(ChannelTransport const&) = delete;

    [[nodiscard]] DeviceChannel<Request, Reply> device_handle(
        CodeLocation const& where) const requires typed {
        if (memory_ == nullptr) throw UsageError("the kernel is another process's");
        if (peer_ != nullptr) {
            throw UsageError(
                "a block of the PersistentKernel has this end: one of a Channel that "
                "you make is for a kernel that you write");
        }
        ChannelView const device = memory_->device_view().channel(index_);
        taken_.take("Client::device_handle", where, {device.requests.base, device.requests.credit},
                    {device.replies.base, device.replies.credit});
        return {device.requests, device.replies};
    }

    [[nodiscard]] MessageOf<Request> const& request() const { return request_; }
    [[nodiscard]] MessageOf<Reply> const& reply() const { return reply_; }

    void require_own() const { mark_.require_own(); }
    void require_alive() const {
        if (kernel_state_ != nullptr) peer_->require_alive();
    }
    [[nodiscard]] bool answers() const { return kernel_state_ == nullptr || peer_->answers(); }
    [[nodiscard]] HostWait const& wait_style() const { return wait_; }

    // Throws as require_open(); nothing was sent then.
    [[nodiscard]] std::optional<Sent> try_send(Asked const& request, OutOfLine data) {
        return ends_.try_submit(request, data, [&] { require_open(); });
    }
    // The same for the first ones of `count` requests; returns how many. The first has number
    // next().
    [[nodiscard]] std::size_t try_send_n(Asked const* requests, std::size_t count, OutOfLine data) {
        return ends_.try_submit_n(requests, count, data, [&] { require_open(); });
    }
    [[nodiscard]] Sent next() const { return ends_.next(); }
    [[nodiscard]] bool try_take(Sent number, Packed<Answered>& reply) {
        return ends_.try_take(number, reply);
    }
    void give_up(Sent number) { ends_.abandon(number); }
    [[nodiscard]] Line const* awaited() const { return ends_.awaited(); }
    void warm() {
        if (kernel_state_ != nullptr) cpu::prefetch(kernel_state_);
        ends_.warm();
    }

    // What a ticket says of a request.
    [[nodiscard]] static std::uint64_t number_of(Sent number) { return number; }
    [[nodiscard]] static std::uint32_t slot_of(Sent /*number*/) { return 0; }
    // Throws UsageError when no reply is outstanding for such a ticket.
    [[nodiscard]] Sent find(std::uint64_t number, std::uint32_t /*slot*/) {
        ends_.require_valid(number);
        return number;
    }
    [[noreturn]] void throw_not_sent() const {
        detail::throw_not_sent(NoRoom::channel, capacity(), ends_.untaken());
    }

    [[noreturn]] void throw_not_all_sent(std::size_t sent, std::size_t all) const {
        detail::throw_not_all_sent(sent, all, capacity(), ends_.untaken());
    }

    // From any thread.
    [[nodiscard]] bool all_answered() const { return ends_.all_answered(); }
    [[nodiscard]] std::uint32_t capacity() const { return ends_.capacity(); }
    [[nodiscard]] ChannelCounters counters() const {
        return memory_ ? memory_->counters(index_)
                       : read_counters(leased_.replies, *leased_.counters, leased_.served_by);
    }

   private:
    void require_open() const {
        // Relaxed: what is not `running` leads to what the mutex of the kernel orders.
        if (kernel_state_ != nullptr &&
            kernel_state_->load(std::memory_order_relaxed) != KernelState::running) [[unlikely]]
            peer_->require_open();
    }

    using Ends = HostChannel<Asked, Answered, typename MessageOf<Reply>::Near,
                             typename MessageOf<Request>::Far>;
    // What is counted of.
    struct Leased {
        RingView replies;
        CounterWords* counters;
        ServedBy served_by;
    };

    [[nodiscard]] static Ends make_ends(Device const& device, ChannelMemory const& memory,
                                        unsigned index, std::uint64_t* doorbell,
                                        MessageOf<Request> const& request,
                                        MessageOf<Reply> const& reply) {
        ChannelView const view = memory.host_view().channel(index);
        HostMapped const access = device.access(memory.device_memory());
        return {view.requests,       view.replies, reply.near(),
                request.far(access), doorbell,     memory.host_view().counters(index)};
    }

    ProcessMark mark_;
    HostWait wait_;
    std::atomic<KernelState> const* kernel_state_;  // of peer_, if there is one
    Ends ends_;
    // What a call looks at ends with ends_.
    std::shared_ptr<ChannelMemory> memory_;  // none where the kernel is another process's
    unsigned index_ = 0;
    [[no_unique_address]] MessageOf<Request> request_;
    [[no_unique_address]] MessageOf<Reply> reply_;
    Leased leased_{};  // of another process's kernel
    std::shared_ptr<ChannelPeer> peer_;
    mutable TakenOnce taken_;
    AnswersWatched asked_;  // goes first: it asks ends_
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// How a warp serves long messages: its lanes share the quads, and one lane runs the handler. One
// thread would load a message of 1 KiB in several trips to the L2 cache, and answer in 86 writes on
// the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::detail {

// The ends of a channel whose messages the lanes share.
template <class RequestType, class ReplyType, NearQuadAccess Near = DeviceNear,
          QuadAccess Far = DeviceFar, VotingGroup LanesType = WarpLanes, class Pages = NearPages>
struct LongChannel {
    using Request = RequestType;
    using Reply = ReplyType;
    using Lanes = LanesType;

    Consumer<Request, Near, Far, Lanes, Pages> requests;
    Producer<Reply, Far, Near, NoDoorbell, Lanes> replies;

    CARILLON_HD LongChannel(RingView const& request_ring, RingView const& reply_ring,
                            Near near = Near(), Far far = Far(), Lanes lanes = Lanes())
        : requests(request_ring, near, far, lanes),
          replies(reply_ring, far, near, NoDoorbell(), lanes) {
        requests.choose_pages();
    }
};

// The bytes of a message, in whole quads: the lanes of a warp exchange them.
template <class T>
struct SharedMessage {
    alignas(16) alignas(T) unsigned char bytes[quads_of<T> * payload_bytes_per_quad];

    CARILLON_HD void put(std::size_t i, Quad const& quad) {
        std::uint32_t const words[] = {static_cast<std::uint32_t>(quad.low),
                                       static_cast<std::uint32_t>(quad.low >> 32),
                                       static_cast<std::uint32_t>(quad.high)};
        std::memcpy(bytes + i * payload_bytes_per_quad, words, payload_bytes_per_quad);
    }
    struct QuadWords {
        std::uint32_t word[payload_words_per_quad];
    };
    [[nodiscard]] CARILLON_HD QuadWords words_of(std::size_t i) const {
        QuadWords words;
        std::memcpy(&words, bytes + i * payload_bytes_per_quad, sizeof(words));
        return words;
    }
    [[nodiscard]] CARILLON_HD T const& message() const {
        return *reinterpret_cast<T const*>(bytes);
    }
    // On the CPU, zeroes all bytes that are not part of a value, like pack().
    CARILLON_HD void clear_padding() {
#if !defined(__CUDA_ARCH__)
        if constexpr (clears_padding<T>) {
            auto const clean = without_padding(message());
            std::memcpy(bytes, &clean, sizeof(T));
        }
        std::memset(bytes + sizeof(T), 0, sizeof(bytes) - sizeof(T));
#endif
    }
};

template <class Request, class Reply>
struct SharedMessages {
    SharedMessage<Request> request;
    SharedMessage<Reply> reply;
};

// Answers every request with `handler` until a stop. Every lane calls it and sees `shared`. Only
// the first lane uses handler and control.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control>
CARILLON_HD void serve_long(
    Channel channel, Handler& handler, Control control, typename Channel::Lanes lanes,
    SharedMessages<typename Channel::Request, typename Channel::Reply>& shared) {
    using Reply = typename Channel::Reply;
    auto const look = [&] {
        if (channel.replies.was_full()) return false;
        if (!channel.requests.try_take_quads(
                [&](std::size_t i, Quad const& quad) { shared.request.put(i, quad); })) {
            return false;
        }
        lanes.sync();
        if (is_leader(lanes)) {
            ::new (shared.reply.bytes) Reply(detail::handle_by(handler, shared.request.message()));
            shared.reply.clear_padding();
        }
        lanes.sync();  // before the request is overwritten, and for the reply
        (void)channel.replies.try_push_shared_out(
            [&](std::size_t i) { return shared.reply.words_of(i); },
            detail::out_of_line_of<Handler>());
        return true;
    };
    detail::sweep_until_stopped(control, lanes, look, [&] {
        channel.requests.return_held();
        if (is_leader(lanes)) detail::run_idle(handler);
    });
}

}  // namespace carillon::detail

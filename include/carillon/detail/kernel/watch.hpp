// SPDX-License-Identifier: Apache-2.0
// A block that watches many channels by their doorbells: a warp whose lanes share the channels.
#pragma once

#include <cstdint>
#include <new>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"

namespace carillon::detail {

// Serves one request of `channel`, whose doorbell was heard as `rung`; returns whether there was
// one. The doorbell is ahead of the taken requests, so the line is there or will come. A request
// stays in the ring while its reply has no room: no other channel waits for this one's host.
CARILLON_POLICY_CODE
template <class Channel, class Handler>
CARILLON_HD bool serve_heard(Channel& channel, Sequence rung, Handler& handler) {
    // Doorbell and line arrive in any order, but close together. A late line is looked at a few
    // times before the other channels get their turn.
    constexpr unsigned looks_at_line = 4;
    if (rung < channel.requests.next() || channel.replies.was_full()) return false;
    using Request = typename Channel::RequestMessage;
    using Reply = typename Channel::ReplyMessage;
    auto const answer = [&](Packed<Request> const& request) {
        Packed<Reply> const reply = pack<Reply>(handle_by(handler, unpack<Request>(request)), 0);
        (void)channel.replies.try_put(reply, out_of_line_of<Handler>());  // there is room
    };
    for (unsigned look = 0; look < looks_at_line; ++look) {
        if (channel.requests.try_consume(answer)) return true;
    }
    return false;
}

// One lane's channel; or no channel, whose doorbell is never heard.
template <class Channel>
class Watched {
   public:
    CARILLON_HD Watched(Channel const* channels, unsigned index, unsigned count)
        : channel_(channels[index < count ? index : 0]),
          due_(index < count ? channel_.requests.next() : ~Sequence{0}) {}

    // Whether it has work, if its doorbell is heard as `rung`.
    [[nodiscard]] CARILLON_HD bool concerned(Sequence rung) const { return rung >= due_; }

    CARILLON_POLICY_CODE
    template <class Handler>
    CARILLON_HD bool serve(Sequence rung, Handler& handler) {
        if (!concerned(rung) || !serve_heard(channel_, rung, handler)) return false;
        due_ = channel_.requests.next();
        return true;
    }

    // Call it after a while without requests.
    CARILLON_POLICY_CODE
    CARILLON_HD void rest() { channel_.requests.return_held(); }

   private:
    Channel channel_;
    Sequence due_;  // the next request
};

// Serves `count` channels whose hosts ring: `doorbells` has a word for each, at a multiple of 16
// bytes, and on a GPU room for doorbells_per_block words. Every lane of a warp calls it, with the
// same channels in memory that all lanes see, and serves some of them; only lane 0 uses `control`.
//
// A sweep looks at all doorbells and serves at most one request of every channel, if the request
// was there when the sweep looked at the doorbell and its reply has room. Therefore a request that
// a sweep finds waits for at most count - 1 others; before that it may have missed the current
// sweep, which adds as many.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control, class Near = DeviceNear,
          VotingGroup Lanes = WarpLanes>
CARILLON_HD void serve_watch(Channel* channels, unsigned count, std::uint64_t const* doorbells,
                             Handler& handler, Control control, Near near = Near(),
                             Lanes lanes = Lanes()) {
    if constexpr (2 * Lanes::most >= doorbells_per_block) {
        // A lane has at most two channels, whose state stays in registers. Nearly every sweep finds
        // nothing, and its time is part of every round trip; therefore it has one branch.
        unsigned const index = 2 * lanes.thread_rank();
        Watched<Channel> first(channels, index, count);
        Watched<Channel> second(channels, index + 1, count);
        std::uint64_t const* const own_doorbells = doorbells + index;
        auto const look = [&] {
            Quad const rung = near.load_pair(own_doorbells);
            if (!first.concerned(rung.low) && !second.concerned(rung.high)) [[likely]]
                return false;
            bool const served = first.serve(rung.low, handler);
            return second.serve(rung.high, handler) || served;
        };
        detail::sweep_until_stopped(control, lanes, look, [&] {
            first.rest();
            second.rest();
            detail::run_idle(handler);
        });
    } else {
        unsigned const begin = 2 * lanes.thread_rank();
        auto const look = [&] {
            bool served = false;
            for (unsigned index = begin; index < count; index += 2 * lanes.size()) {
                Quad const rung = near.load_pair(doorbells + index);
                served |= detail::serve_heard(channels[index], rung.low, handler);
                if (index + 1 == count) break;
                served |= detail::serve_heard(channels[index + 1], rung.high, handler);
            }
            return served;
        };
        detail::sweep_until_stopped(control, lanes, look, [&] {
            for (unsigned index = begin; index < count; index += 2 * lanes.size()) {
                channels[index].requests.return_held();
                if (index + 1 != count) channels[index + 1].requests.return_held();
            }
            detail::run_idle(handler);
        });
    }
}

template <class Handler, class Request, class Reply>
struct WatchBody {
    KernelBlocks blocks;
    Handlers<Handler> handlers;
    unsigned channels_per_block;

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply>;
        auto& room = block::shared<Room<Channel>, WatchBody>();
        auto* const watched = reinterpret_cast<Channel*>(room.bytes);
        unsigned const first = block * channels_per_block;
        for (unsigned i = block::thread_rank(); i < channels_per_block; i += block::size()) {
            ChannelView const view = blocks.channels.channel(first + i);
            ::new (watched + i) Channel(view.requests, view.replies);
        }
        block::sync({"carillon/detail/kernel/watch.hpp", __LINE__});
        // one after the other, because each measures times
        if (block::thread_rank() == 0) {
            for (unsigned i = 0; i < channels_per_block; ++i) watched[i].requests.choose_pages();
        }
        block::sync({"carillon/detail/kernel/watch.hpp", __LINE__});
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        ChannelView const leading = blocks.channels.channel(first);
        DeviceClock const clock(blocks.oversubscribed);
        serve_watch(watched, channels_per_block, nearest_doorbells(block, leading.status, clock),
                    own, blocks.control(leading));
    }

   private:
    // Returns the nearer of the block's two doorbell pages. The host reads the choice in the status
    // line once that says that the block has started.
    CARILLON_HD std::uint64_t const* nearest_doorbells(unsigned block, StatusLine* status,
                                                       DeviceClock const& clock) const {
        WarpLanes const lanes;
        std::uint64_t page = 0;
        if (lanes.thread_rank() == 0) {
            std::uint64_t* const doorbells = blocks.channels.doorbells(block, 0);
            constexpr Sequence never = ~Sequence{0};  // no request's number
            page = nearest_page(DeviceNear(), clock, doorbells, ChannelTable::page, 2, never);
            FlagWriter<std::uint64_t, DeviceFar>(&status->doorbell_page).set(page);
        }
        return blocks.channels.doorbells(block, static_cast<unsigned>(lanes.broadcast(page)));
    }

    template <class Channel>
    struct Room {
        alignas(Channel) unsigned char bytes[doorbells_per_block * sizeof(Channel)];
    };
};

}  // namespace carillon::detail

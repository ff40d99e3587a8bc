// SPDX-License-Identifier: Apache-2.0
// The kernel whose blocks watch many channels each.
#pragma once

#include <cstdint>
#include <new>

#include "carillon/block.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handlers.hpp"
#include "carillon/detail/kernel/watch.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

template <class Handler, class Request, class Reply>
struct WatchBody {
    ChannelTable channels;
    Handlers<Handler> handlers;
    unsigned channels_per_block;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply>;
        auto& room = block::shared<Room<Channel>, WatchBody>();
        auto* const watched = reinterpret_cast<Channel*>(room.bytes);
        unsigned const first = block * channels_per_block;
        for (unsigned i = block::thread_rank(); i < channels_per_block; i += block::size()) {
            ChannelView const view = channels.channel(first + i);
            ::new (watched + i) Channel(view.requests, view.replies);
        }
        block::sync({"carillon/detail/kernel/watch_body.hpp", __LINE__});
        // One after the other: each measures times.
        if (block::thread_rank() == 0) {
            for (unsigned i = 0; i < channels_per_block; ++i) watched[i].requests.choose_pages();
        }
        block::sync({"carillon/detail/kernel/watch_body.hpp", __LINE__});
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        ChannelView const leading = channels.channel(first);
        DeviceClock const clock(oversubscribed);
        serve_watch(watched, channels_per_block, nearest_doorbells(block, leading.status, clock),
                    own, limits.control(leading, clock));
    }

   private:
    // The nearer of the block's two doorbell pages. The host reads it in the status line once it
    // sees there that the block has started.
    CARILLON_HD std::uint64_t const* nearest_doorbells(unsigned block, StatusLine* status,
                                                       DeviceClock const& clock) const {
        WarpLanes const lanes;
        std::uint64_t page = 0;
        if (lanes.thread_rank() == 0) {
            std::uint64_t* const doorbells = channels.doorbells(block, 0);
            constexpr Sequence never = ~Sequence{0};  // no request's number
            page = nearest_page(DeviceNear(), clock, doorbells, ChannelTable::page, 2, never);
            FlagWriter<std::uint64_t, DeviceFar>(&status->doorbell_page).set(page);
        }
        return channels.doorbells(block, static_cast<unsigned>(lanes.broadcast(page)));
    }

    template <class Channel>
    struct Room {
        alignas(Channel) unsigned char bytes[doorbells_per_block * sizeof(Channel)];
    };
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The kernels whose blocks have a channel each.
#pragma once

#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/access/device.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// A block of one thread with one channel.
template <class Handler, class Request, class Reply>
struct ServeBody {
    ChannelTable channels;
    Handler handler;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = channels.channel(block);
        Handler own = handler;
        serve(DeviceChannel<Request, Reply>(view.requests, view.replies), own,
              limits.control(view, DeviceClock(oversubscribed)));
    }
};

// A block with an express channel too, or whose threads serve together.
template <class Handler, class Request, class Reply>
struct ServeTogetherBody {
    ChannelTable channels;
    Handler handler;
    BlockLimits limits;
    bool oversubscribed;
    unsigned express;  // where the express channels begin; 0: there are none

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply>;
        using Threads = std::conditional_t<threads_of<Handler>() == 1, OneThread, BlockThreads>;
        ChannelView const view = channels.channel(block);
        ChannelView const ahead = express != 0 ? channels.channel(express + block) : view;
        Handler own = handler;
        serve_together(express != 0, Channel(ahead.requests, ahead.replies),
                       Channel(view.requests, view.replies), own,
                       limits.control(view, DeviceClock(oversubscribed)), Threads());
    }
};

}  // namespace carillon::detail

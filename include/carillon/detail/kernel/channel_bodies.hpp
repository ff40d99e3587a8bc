// SPDX-License-Identifier: Apache-2.0
// The bodies of kernels whose blocks have one channel each, for PersistentKernel with Channels.
#pragma once

#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/block_control.hpp"  // IWYU pragma: export
#include "carillon/detail/kernel/handler.hpp"        // IWYU pragma: export
#include "carillon/detail/kernel/serve.hpp"          // IWYU pragma: export
#include "carillon/detail/kernel/serve_long.hpp"     // IWYU pragma: export
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"

namespace carillon::detail {

// The access policy for the replies of `Handler`. With `many` blocks each reply of more than a quad
// leaves as one write. Only DeviceFar orders the handler's other writes.
template <class Handler>
using ReplyFar =
    std::conditional_t<out_of_line_of<Handler>() == OutOfLine::none, DeviceBulkFar, DeviceFar>;
template <class Handler>
[[nodiscard]] CARILLON_HD ReplyFar<Handler> reply_far(bool many) {
    if constexpr (std::is_same_v<ReplyFar<Handler>, DeviceBulkFar>) {
        return DeviceBulkFar(many);
    } else {
        return DeviceFar();
    }
}

// The number of threads that serve a channel: the handler's, or a warp if messages are long.
template <class Handler, class Request, class Reply>
CARILLON_HD constexpr unsigned serving_threads() {
    constexpr bool is_long =
        quads_in_a_look < quads_of<Request> || quads_in_a_look < quads_of<Reply>;
    return threads_of<Handler>() == 1 && is_long ? lanes_per_warp : threads_of<Handler>();
}

// Serves a channel with a handler of one thread: by that thread, or by a warp if messages are long.
// The messages that the warp shares are called `Body`.
template <class Body, class Request, class Reply, class Handler, class Control>
CARILLON_HD void serve_alone(ChannelView const& view, Handler& own, Control const& control,
                             bool many) {
    if constexpr (serving_threads<Handler, Request, Reply>() == 1) {
        using Channel = DeviceChannel<Request, Reply, DeviceNear, ReplyFar<Handler>>;
        serve(Channel(view.requests, view.replies, DeviceNear(), reply_far<Handler>(many)), own,
              control);
    } else {
        serve_long(LongChannel<Request, Reply>(view.requests, view.replies), own, control,
                   WarpLanes(), block::shared<SharedMessages<Request, Reply>, Body>());
    }
}

// A block with one channel, whose handler has one thread.
template <class Handler, class Request, class Reply>
struct ServeBody {
    KernelBlocks blocks;
    Handlers<Handler> handlers;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = blocks.channels.channel(block);
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        serve_alone<ServeBody, Request, Reply>(view, own, blocks.control(view), blocks.many);
    }
};

// A block that also has an express channel, or whose threads serve together.
template <class Handler, class Request, class Reply>
struct ServeTogetherBody {
    KernelBlocks blocks;
    Handlers<Handler> handlers;
    unsigned express = 0;  // index of the first express channel; 0: there are none

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply, DeviceNear, ReplyFar<Handler>>;
        using Threads = std::conditional_t<threads_of<Handler>() == 1, OneThread, BlockThreads>;
        ChannelView const view = blocks.channels.channel(block);
        ChannelView const ahead = express != 0 ? blocks.channels.channel(express + block) : view;
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        auto const far = reply_far<Handler>(blocks.many);
        serve_together(express != 0, Channel(ahead.requests, ahead.replies, DeviceNear(), far),
                       Channel(view.requests, view.replies, DeviceNear(), far), own,
                       blocks.control(view), Threads());
    }
};

// For all bodies with handlers: loading a long message would take more registers than a thread has
// in a block of many threads.
template <template <class, class, class> class Body, class Handler, class Request, class Reply>
requires std::is_same_v<decltype(Body<Handler, Request, Reply>::handlers), Handlers<Handler>>
inline constexpr unsigned most_threads_of<Body<Handler, Request, Reply>> =
    threads_of<Handler>() == 1 ? 0 : threads_of<Handler>();

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The kernel whose blocks serve clients of other processes.
#pragma once

#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/handlers.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_leases.hpp"
#include "carillon/detail/kernel/serve_long.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

template <class Handler, class Request, class Reply>
struct LeaseBody {
    ChannelTable blocks;  // one channel for each block, which uses its control and status lines
    LeaseTable leases;
    Handlers<Handler> handlers;
    BlockLimits limits;
    bool oversubscribed;
    bool many;  // reply_far()

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply, DeviceNear, ReplyFar<Handler>>;
        constexpr unsigned threads = serving_threads<Handler, Request, Reply>();
        using Threads = std::conditional_t<threads == 1, OneThread, BlockThreads>;
        Handler own = handlers.begin(block);  // its state stays from one client to the next
        check_handler_call<Reply, Request const&>(own);
        auto const serve_one = [&](ChannelView const& view, auto const& control) {
            if constexpr (threads != threads_of<Handler>()) {
                serve_long(LongChannel<Request, Reply>(view.requests, view.replies), own, control,
                           WarpLanes(), block::shared<SharedMessages<Request, Reply>, LeaseBody>());
            } else {
                Channel const channel(view.requests, view.replies, DeviceNear(),
                                      reply_far<Handler>(many));
                if constexpr (threads == 1) {
                    serve(channel, own, control);
                } else {
                    serve_together(false, channel, channel, own, control, Threads());
                }
            }
        };
        auto const rested = [&] {
            // In a warp that shares messages the first lane runs the handler.
            if (threads == threads_of<Handler>() || is_leader(Threads())) run_idle(own);
        };
        serve_leases(limits.control(blocks.channel(block), DeviceClock(oversubscribed)),
                     LeaseReader<DeviceNear, DeviceFar>(leases, block), Threads(), serve_one,
                     rested);
    }
};
// A thread's loads of a long message would exceed the registers that many threads leave each.
template <class Handler, class Request, class Reply>
inline constexpr unsigned most_threads_of<LeaseBody<Handler, Request, Reply>> =
    threads_of<Handler>() == 1 ? 0 : threads_of<Handler>();

}  // namespace carillon::detail

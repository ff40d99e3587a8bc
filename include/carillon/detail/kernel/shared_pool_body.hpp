// SPDX-License-Identifier: Apache-2.0
// The kernel whose blocks serve all clients of other processes together.
#pragma once

#include <new>
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
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

template <class Handler, class Request, class Reply>
struct SharedPoolBody {
    ChannelTable blocks;  // one channel for each block, which uses its control and status lines
    LeaseTable leases;
    unsigned places;  // of the leases
    Handlers<Handler> handlers;
    BlockLimits limits;
    bool oversubscribed;
    bool many;  // reply_far()

    CARILLON_HD void operator()(unsigned block) const {
        using Far = ReplyFar<Handler>;
        using Places = PoolPlaces<Request, Reply, DeviceNear, Far>;
        using Taken = typename Places::Taken;
        using Threads = std::conditional_t<threads_of<Handler>() == 1, OneThread, BlockThreads>;
        Threads const threads;
        // Only for the first thread. A local object would take memory of every GPU thread.
        Places* const clients = &block::shared<block::Room<Places>, SharedPoolBody>().object();
        if (is_leader(threads)) {
            ::new (clients) Places(leases, places, block, DeviceNear(), reply_far<Handler>(many));
        }
        auto control = limits.control(blocks.channel(block), DeviceClock(oversubscribed));
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        auto const take = [&](Taken& taken) { return clients->try_take(taken); };
        auto const handle = [&](Taken const& taken) -> Reply {
            return handle_by(own, unpack<Request>(taken.message));
        };
        auto const answer = [&](Taken const& taken, Reply const& reply) {
            clients->answer(taken, pack<Reply>(reply, 0), out_of_line_of<Handler>());
        };
        serve_by_turns<Taken>(control, threads, own, take, handle, answer);
    }
};
// A thread's loads of a long message would exceed the registers that many threads leave each.
template <class Handler, class Request, class Reply>
inline constexpr unsigned most_threads_of<SharedPoolBody<Handler, Request, Reply>> =
    threads_of<Handler>() == 1 ? 0 : threads_of<Handler>();

}  // namespace carillon::detail

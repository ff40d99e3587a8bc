// SPDX-License-Identifier: Apache-2.0
// The bodies of kernels with a Pool, whose blocks share one ring, and with a SharedPool, whose
// blocks together serve all clients of other processes.
#pragma once

#include <new>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"

namespace carillon::detail {

template <class Handler, class Request, class Reply>
struct PoolBody {
    KernelBlocks blocks;
    MpmcRingView requests;
    ReplySlots reply_slots;
    Handlers<Handler> handlers;
    bool warps;  // each block is a warp, whose lanes share a stripe

    CARILLON_HD void operator()(unsigned block) const {
        using Asked = AddressedRequest<Request>;
        constexpr bool alone = threads_of<Handler>() == 1;
        auto control = blocks.control(blocks.channels.channel(block));
        Handler own = handlers.begin(block);
        check_handler_call<Reply, Request const&>(own);
        auto const handle = [&](Asked const& asked) -> Reply {
            return handle_by(own, asked.value);
        };
        if (!warps) {
            ReplyWriter<ReplyFar<Handler>> const replies(reply_slots,
                                                         reply_far<Handler>(blocks.many));
            auto const answer = [&](Asked const& asked, Reply const& reply) {
                replies.answer(asked.reply_to, reply, out_of_line_of<Handler>());
            };
            MpmcConsumer<Asked, DeviceNear, DeviceFar, OneThread> ring(requests);
            if (requests.stripe() == 1) {
                // It is taken before it is handled, so that a slow handler does not hold the slot;
                // as bytes, because a request may have no default constructor.
                using Threads = std::conditional_t<alone, OneThread, BlockThreads>;
                using Taken = BytesOf<Asked>;
                auto const take = [&](Taken& taken) {
                    return ring.poll([&](Asked const& next, Sequence /*number*/) {
                        taken = __builtin_bit_cast(Taken, next);
                    });
                };
                serve_by_turns<Taken>(
                    control, Threads(), own, take,
                    [&](Taken const& taken) { return handle(__builtin_bit_cast(Asked, taken)); },
                    [&](Taken const& taken, Reply const& reply) {
                        answer(__builtin_bit_cast(Asked, taken), reply);
                    });
            } else if constexpr (alone) {
                auto const look = [&] {
                    return ring.poll([&](Asked const& next, Sequence /*number*/) {
                        answer(next, handle(next));
                    });
                };
                sweep_until_stopped(control, OneThread(), look, [&] { run_idle(own); });
            }
        } else if constexpr (alone) {
            ReplyWriter<DeviceFar> const replies(reply_slots);
            MpmcConsumer<Asked, DeviceNear, DeviceFar, WarpLanes> ring(requests);
            auto const look = [&] {
                return ring.poll([&](Asked const& next, Sequence /*number*/) {
                    replies.answer(next.reply_to, handle(next), out_of_line_of<Handler>());
                });
            };
            sweep_until_stopped(control, WarpLanes(), look, [&] { run_idle(own); });
        }
    }
};

template <class Handler, class Request, class Reply>
struct SharedPoolBody {
    KernelBlocks blocks;
    LeaseTable leases;
    unsigned places;  // of the leases
    Handlers<Handler> handlers;

    CARILLON_HD void operator()(unsigned block) const {
        using Far = ReplyFar<Handler>;
        using Places = PoolPlaces<Request, Reply, DeviceNear, Far>;
        using Taken = typename Places::Taken;
        using Threads = std::conditional_t<threads_of<Handler>() == 1, OneThread, BlockThreads>;
        Threads const threads;
        // Only for the first thread. A local object would occupy memory of every GPU thread.
        Places* const clients = &block::shared<block::Room<Places>, SharedPoolBody>().object();
        if (is_leader(threads)) {
            ::new (clients)
                Places(leases, places, block, DeviceNear(), reply_far<Handler>(blocks.many));
        }
        auto control = blocks.control(blocks.channels.channel(block));
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

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The kernel with SharedChannels: each block serves one client of another process after the other,
// through a channel that the owner leases to the client.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/lease.hpp"

namespace carillon::detail {

// A block's control while it serves one lease: it also ends with the lease.
template <class Control, class Reader>
class LeaseControl : public Control {
   public:
    // Rests as if it had never waited: only the block's first thread has waited for the lease, and
    // lanes that sweep together must poll equally often before they rest, or they never meet again.
    CARILLON_POLICY_CODE
    CARILLON_HD LeaseControl(Control const& block, Reader const& lease, std::uint64_t number)
        : Control(block), lease_(lease), number_(number) {
        Control::busy();
    }

    CARILLON_HD void report_started() const {}  // the block has done so
    CARILLON_HD void report_ended() const {}
    CARILLON_POLICY_CODE
    CARILLON_HD bool should_stop() { return Control::look_due() && stop_now(); }
    CARILLON_POLICY_CODE
    CARILLON_HD bool stop_now() { return Control::stop_now() || lease_.number() != number_; }

   private:
    Reader lease_;
    std::uint64_t number_;
};

// The find of a block's first thread: a channel to serve, if it is `work`.
struct LeaseTurn {
    ChannelView channel;
    std::uint64_t number;
    Found found;
};

// Serves every lease by `serve(channel, control)`, until told to stop; without a lease it calls
// `rested()`, like serve() calls idle(). All of `threads` call it; only the first one uses control
// and lease.
CARILLON_POLICY_CODE
template <class Control, class Reader, SharingGroup Threads, class Serve, class Rested>
CARILLON_HD void serve_leases(Control control, Reader lease, Threads threads, Serve&& serve,
                              Rested&& rested) {
    bool const leads = threads.thread_rank() == 0;
    std::uint64_t seen = 0;
    auto const await = [&](LeaseTurn& turn) {
        std::uint32_t const looks = control.polls_before_rest();
        for (std::uint32_t in_vain = 0; in_vain < looks; ++in_vain) {
            if (control.stop_now()) return Found::stop;
            turn.number = lease.number();
            bool const news = turn.number != seen;
            seen = turn.number;
            if (news && is_leased(seen)) {
                turn.channel = lease.place().channel(0);
                return Found::work;
            }
            if (news) lease.report_free(seen);
            control.spin();
        }
        control.rest(looks);
        return Found::nothing;
    };
    LeaseTurn own_turn;
    LeaseTurn& turn = threads.template shared<LeaseTurn>(own_turn);
    if (leads) control.report_started();
    for (;;) {
        if (leads) turn.found = await(turn);
        threads.sync();
        if (turn.found == Found::stop) break;
        if (turn.found == Found::nothing) {
            rested();
            threads.sync();  // all have read the turn
            continue;
        }
        LeaseTurn const mine = turn;
        threads.sync();  // all have read the turn before the next one
        serve(mine.channel, LeaseControl<Control, Reader>(control, lease, mine.number));
        threads.sync();  // all writes come before the first thread's report that the lease is over
    }
    if (leads) control.report_ended();
}

template <class Handler, class Request, class Reply>
struct LeaseBody {
    KernelBlocks blocks;
    LeaseTable leases;
    Handlers<Handler> handlers;

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply, DeviceNear, ReplyFar<Handler>>;
        constexpr unsigned threads = serving_threads<Handler, Request, Reply>();
        using Threads = std::conditional_t<threads == 1, OneThread, BlockThreads>;
        Handler own = handlers.begin(block);  // its state stays from one client to the next
        check_handler_call<Reply, Request const&>(own);
        auto const serve_one = [&](ChannelView const& view, auto const& control) {
            if constexpr (threads_of<Handler>() == 1) {
                serve_alone<LeaseBody, Request, Reply>(view, own, control, blocks.many);
            } else {
                Channel const channel(view.requests, view.replies, DeviceNear(),
                                      reply_far<Handler>(blocks.many));
                serve_together(false, channel, channel, own, control, Threads());
            }
        };
        auto const rested = [&] {
            // In a warp that shares messages the first lane runs the handler.
            if (threads == threads_of<Handler>() || is_leader(Threads())) run_idle(own);
        };
        serve_leases(blocks.control(blocks.channels.channel(block)),
                     LeaseReader<DeviceNear, DeviceFar>(leases, block), Threads(), serve_one,
                     rested);
    }
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The serving loops of a persistent kernel's block: one thread polls, runs the handler and answers;
// or all its threads do so together; or the lanes of a warp sweep over all that they watch. GPU and
// emulated device run this code.
#pragma once

#include <cstdint>

#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Sweeps with `look()`, which returns whether it served a request, until a stop. Calls `rested()`
// when a lane has found nothing for many sweeps in a row.
CARILLON_POLICY_CODE
template <class Control, VotingGroup Lanes, class Look, class Rested>
CARILLON_HD void sweep_until_stopped(Control& control, Lanes const& lanes, Look&& look,
                                     Rested&& rested) {
    bool const leads = lanes.thread_rank() == 0;
    if (leads) control.report_started();
    do {
        // Like in serve(), there are only sweeps until a request is slow.
        control.looked();
        std::uint32_t const sweeps = control.polls_before_rest();
        bool served = false;
        bool due = false;
        // The vote brings the lanes together; otherwise they would load their doorbells separately.
        for (std::uint32_t sweep = 0; sweep < sweeps && !lanes.any(due); ++sweep) {
            if (look()) {
                served = true;
                due = control.busy();
            }
            control.spin();
        }
        if (!served) rested();
        // Lanes that may sleep decide together, because a warp is as slow as its slowest lane.
        if (control.may_rest()) served = lanes.any(served);
        if (served) {
            control.busy();
        } else {
            control.rest(sweeps);
        }
    } while (!lanes.any(leads && control.stop_now()));
    if (leads) control.report_ended();
}

// The find of a block's first thread, for all of its threads.
enum class Found : std::uint32_t {
    work,
    nothing,  // no work for a while: they run the handler's idle()
    stop,
};
template <class Work>
struct Turn {
    Work work;
    Found found;
};

// Waits for room for a reply; returns false if it is time to end.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control>
CARILLON_HD bool await_room(Channel& channel, Handler& handler, Control& control) {
    if (!channel.replies.was_full()) [[likely]]
        return true;
    channel.requests
        .return_held();  // there are no looks meanwhile, so this does the work of many failed looks
    do {
        if (control.stop_now()) return false;
        control.idle();
        run_idle(handler);
    } while (channel.replies.was_full());
    control.busy();  // it waited for room, not for a request
    return true;
}

// Replies that leave together, even if the next request's handling throws.
template <class Channel, std::uint32_t most>
struct ReplyRow {
    using Reply = typename Channel::ReplyMessage;

    Channel& channel;
    std::uint32_t count = 0;

    CARILLON_POLICY_CODE
    CARILLON_HD explicit ReplyRow(Channel& to) : channel(to) {}
    // Number `i` is the next one.
    CARILLON_POLICY_CODE
    CARILLON_HD void put(std::uint32_t i, Reply const& reply) {
        channel.replies.template stage<most>(i, pack<Reply>(reply, 0));
        count = i + 1;
    }
    CARILLON_POLICY_CODE
    CARILLON_HD ~ReplyRow() {
        if (count != 0) channel.replies.template put_staged<most>(count);
    }
};

// Serves requests that are already there, while there are any: loads them together, and sends their
// replies together. It is for quick handlers, because a reply waits for the others of its row.
// Returns whether a look at the stop word is due.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control>
CARILLON_HD bool serve_rows(Channel& channel, Handler& handler, Control& control) {
    using Request = typename Channel::RequestMessage;
    using Reply = typename Channel::ReplyMessage;
    constexpr std::uint32_t most = row_of<Request, Reply>;
    for (;;) {
        {
            ReplyRow<Channel, most> row(channel);
            auto const handle = [&](std::uint32_t i, Packed<Request> const& request) {
                row.put(i, handle_by(handler, unpack<Request>(request)));
            };
            std::uint32_t const room = channel.replies.room_in_a_row(most);
            if (channel.requests.template try_consume_row<most>(room, handle) == 0) return false;
        }
        if (control.busy()) return true;
        if (!control.was_quick()) return false;
    }
}

// Answers every request with `handler` until a stop.
CARILLON_POLICY_CODE
template <class Request, class Reply, class Near, class Far, class Pages, class Handler,
          class Control>
CARILLON_HD void serve(DeviceChannel<Request, Reply, Near, Far, Pages> channel, Handler& handler,
                       Control control) {
    constexpr OutOfLine data = detail::out_of_line_of<Handler>();
    channel.requests.choose_pages();
    control.report_started();
    auto const answer = [&](Packed<Request> const& request) {
        channel.replies.put(pack<Reply>(detail::handle_by(handler, unpack<Request>(request)), 0),
                            data);
    };
    constexpr bool in_rows = 1 < detail::row_of<Request, Reply> && data == OutOfLine::none;
    // With room for the reply, only the handler runs between a request and its reply.
    while (detail::await_room(channel, handler, control)) {
        // A request waits for half a poll on average, and all work between two polls makes that
        // longer: the rest is done here, after many polls.
        std::uint32_t const polls = control.polls_before_rest();
        bool waited = false;
        auto const in_vain = [&] {
            waited = true;
            control.spin();
        };
        if (!channel.requests.try_consume_within(polls, in_vain, answer)) {
            control.rest(polls);
            detail::run_idle(handler);
        } else {
            bool due = control.busy();
            if constexpr (in_rows) {
                // The request was there when the last one had been answered; more may be there.
                if (!waited && !due && control.was_quick())
                    due = detail::serve_rows(channel, handler, control);
            }
            if (!due) continue;
        }
        if (control.stop_now()) break;
    }
    control.report_ended();
}

// Serves with all of `threads` together: the first thread takes work, all call `handle(work)`, and
// the first answers with its result. `take(work)` returns whether there was work, with room for its
// answer. All run the handler's idle() too. Only the first thread uses control.
CARILLON_POLICY_CODE
template <class Work, class Control, SharingGroup Threads, class Handler, class Take, class Handle,
          class Answer>
CARILLON_HD void serve_by_turns(Control& control, Threads threads, Handler& handler, Take&& take,
                                Handle&& handle, Answer&& answer) {
    bool const leads = threads.thread_rank() == 0;
    bool due = false;  // for the first thread
    auto const look_for_work = [&](Work& work) {
        if (due && control.stop_now()) return Found::stop;
        do {
            std::uint32_t const polls = control.polls_before_rest();
            for (std::uint32_t in_vain = 0; in_vain < polls; ++in_vain) {
                if (take(work)) return Found::work;
                control.spin();
            }
            control.rest(polls);
            if (control.stop_now()) return Found::stop;
        } while (!HasIdle<Handler>);
        due = false;
        return Found::nothing;
    };
    Turn<Work> own_turn;
    Turn<Work>& turn = threads.template shared<Turn<Work>>(own_turn);
    if (leads) control.report_started();
    for (;;) {
        if (leads) turn.found = look_for_work(turn.work);
        threads.sync();
        if (turn.found == Found::stop) break;
        if constexpr (HasIdle<Handler>) {
            if (turn.found == Found::nothing) {
                run_idle(handler);
                threads.sync();  // all have read the turn
                continue;
            }
        }
        Work const work = turn.work;
        auto const reply = handle(work);
        threads.sync();  // all have read the turn, and their writes come before the reply
        if (!leads) continue;
        answer(work, reply);
        due = control.busy();
    }
    if (leads) control.report_ended();
}

// Serves channels with all of `threads` together, each with its own handler: the first thread looks
// for a request, all run the handler with it, and the reply is the first one's result. With
// `has_express`, requests of `express` come before those of `channel`: they wait only for the
// request that is being served.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control, SharingGroup Threads>
CARILLON_HD void serve_together(bool has_express, Channel express, Channel channel,
                                Handler& handler, Control control, Threads threads) {
    using Request = typename Channel::RequestMessage;
    using Reply = typename Channel::ReplyMessage;
    struct Work {
        Packed<Request> request;
        std::uint32_t urgent;
    };
    // A request stays in the ring while its reply has no room; express requests go on meanwhile.
    auto const take_from = [](Channel& from, Work& work) {
        if (!from.replies.was_full()) [[likely]]
            return from.requests.try_take(work.request);
        from.requests.return_held();
        return false;
    };
    auto const take = [&](Work& work) {
        work.urgent = 1;
        if (has_express && take_from(express, work)) return true;
        work.urgent = 0;
        return take_from(channel, work);
    };
    auto const handle = [&](Work const& work) -> Reply {
        return detail::handle_by(handler, unpack<Request>(work.request));
    };
    auto const answer = [&](Work const& work, Reply const& reply) {
        constexpr OutOfLine data = detail::out_of_line_of<Handler>();
        Packed<Reply> const packed = pack<Reply>(reply, 0);
        if (work.urgent != 0) {
            (void)express.replies.try_put(packed, data);  // there is room
        } else {
            (void)channel.replies.try_put(packed, data);
        }
    };
    if (is_leader(threads)) {
        if (has_express) express.requests.choose_pages();
        channel.requests.choose_pages();
    }
    detail::serve_by_turns<Work>(control, threads, handler, take, handle, answer);
}

}  // namespace carillon::detail

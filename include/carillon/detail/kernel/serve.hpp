// SPDX-License-Identifier: Apache-2.0
// What a block of a persistent kernel does: one thread polls, runs the handler and answers; or a
// warp does, for many channels. The same code runs on the GPU and on the emulated device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/access/device.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/flag.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon {

// How a block spends the time in which nothing comes: it polls, and after so many polls in a row it
// sleeps between two, twice as long each time, up to a limit. What waking then costs, and what
// power it saves, `carillon idle` measures.
struct IdlePolicy {
    std::uint32_t polls = 0;             // before the first sleep
    std::uint32_t longest_sleep_ns = 0;  // at most 1 ms; 0: it never sleeps

    static constexpr IdlePolicy spin() { return {}; }
    static constexpr IdlePolicy backoff() { return {64, 1'000}; }
    static constexpr IdlePolicy park() { return {4096, 200'000}; }
    bool operator==(IdlePolicy const&) const = default;
};

// A block's side of its control and status lines.
template <class Near, class Far, class Clock>
class BasicBlockControl {
   public:
    // `lifetime_ns`: the block ends by itself after so long; 0 for never.
    CARILLON_HD BasicBlockControl(ControlLine* control, StatusLine* status,
                                  std::uint64_t lifetime_ns, Clock clock, Near near = Near(),
                                  Far far = Far())
        : control_(control),
          near_(near),
          multiprocessor_(&status->multiprocessor, far),
          started_(&status->started, far),
          ended_(&status->ended, far),
          beat_(&status->beat, far),
          lifetime_ns_(lifetime_ns),
          clock_(clock) {}

    // The block also ends by itself when no beat of its host has come for so long; 0 for never.
    CARILLON_HD void limit_silence(std::uint64_t silence_ns) { silence_ns_ = silence_ns; }
    CARILLON_HD void rest_by(IdlePolicy const& policy) { rest_ = policy; }

    CARILLON_POLICY_CODE
    CARILLON_HD void report_started() {
        began_ns_ = heard_ns_ = beaten_ns_ = clock_.now_ns();
        multiprocessor_.set(clock_.multiprocessor());
        started_.set(true, OutOfLine::written);  // whoever sees it reads the multiprocessor
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void report_ended() { ended_.set(reason_); }

    // Whether to end. Looks at the stop word at every so many calls: a look costs as much as a
    // poll.
    CARILLON_POLICY_CODE
    CARILLON_HD bool should_stop() {
        if (++looks_ % polls_before_look != 0) [[likely]]
            return false;
        return stop_now();
    }
    // The same, looking at once.
    CARILLON_POLICY_CODE
    CARILLON_HD bool stop_now() {
        looked();
        Quad const words = near_.load_pair(&control_->stop);
        if (words.low != 0) {
            reason_ = EndReason::told;
            return true;
        }
        std::uint64_t const now = clock_.now_ns();
        if (words.high != heard_) {
            heard_ = words.high;
            heard_ns_ = now;
        }
        if (now - beaten_ns_ >= beat_period_ns) {
            beaten_ns_ = now;
            beat_.set(now);
        }
        if (lifetime_ns_ != 0 && now - began_ns_ > lifetime_ns_) reason_ = EndReason::lifetime;
        if (silence_ns_ != 0 && now - heard_ns_ > silence_ns_) reason_ = EndReason::host_silent;
        return reason_ != EndReason::none;
    }

    // Of this thread: another has looked for it.
    CARILLON_HD void looked() { looked_ticks_ = clock_.ticks(); }

    // A request was served. True if it is a while since the last look at the stop word: a stop is
    // not to wait for many requests, or for one that takes long. The next should_stop() looks then.
    CARILLON_POLICY_CODE
    CARILLON_HD bool busy() {
        spins_ = 0;
        idle_polls_ = 0;
        sleep_ns_ = 0;
        return clock_.ticks() - looked_ticks_ > long_ticks && look_next();
    }
    // A poll found nothing. True if it slept: beside a sleep a look at the stop word costs nothing.
    CARILLON_POLICY_CODE
    CARILLON_HD bool idle() {
        spin();
        return rest(1);
    }
    // The same in two parts, for a loop in which nothing but polls is to be: spin() after each that
    // finds nothing, and rest(polls_before_rest()) after so many in a row.
    CARILLON_HD void spin() { clock_.idle(++spins_); }
    [[nodiscard]] CARILLON_HD std::uint32_t polls_before_rest() const {
        if (!may_rest()) return polls_before_look;
        std::uint32_t const left = rest_.polls - idle_polls_;
        return left == 0 ? 1 : left < polls_before_look ? left : polls_before_look;
    }
    CARILLON_POLICY_CODE
    CARILLON_HD bool rest(std::uint32_t polls) {
        if (!may_rest()) return false;
        if (idle_polls_ < rest_.polls) {
            idle_polls_ += polls;
            return false;
        }
        sleep_ns_ = sleep_ns_ == 0 ? first_sleep_ns : 2 * sleep_ns_;
        if (sleep_ns_ > rest_.longest_sleep_ns) sleep_ns_ = rest_.longest_sleep_ns;
        clock_.sleep(sleep_ns_);
        return look_next();
    }
    // Whether its policy ever lets it sleep.
    [[nodiscard]] CARILLON_HD bool may_rest() const { return rest_.longest_sleep_ns != 0; }

   private:
    CARILLON_HD bool look_next() {
        looks_ = polls_before_look - 1;
        return true;
    }

    // A look at the stop word costs as much as a poll.
    static constexpr std::uint32_t polls_before_look = 64;
    static constexpr std::uint32_t first_sleep_ns = 100;
    // Often enough for whoever waits, seldom enough for the bus.
    static constexpr std::uint64_t beat_period_ns = 1'000'000;
    static constexpr std::uint64_t long_ticks = 1'000'000;

    ControlLine* control_;
    Near near_;
    FlagWriter<std::uint64_t, Far> multiprocessor_;
    FlagWriter<bool, Far> started_;
    FlagWriter<EndReason, Far> ended_;
    FlagWriter<std::uint64_t, Far> beat_;
    std::uint64_t lifetime_ns_;
    std::uint64_t silence_ns_ = 0;
    std::uint64_t began_ns_ = 0;
    std::uint64_t heard_ = 0;
    std::uint64_t heard_ns_ = 0;
    std::uint64_t beaten_ns_ = 0;
    std::uint64_t looked_ticks_ = 0;
    EndReason reason_ = EndReason::none;
    std::uint32_t looks_ = 0;
    std::uint32_t spins_ = 0;       // a GPU needs no count of them
    std::uint32_t idle_polls_ = 0;  // of a block that may rest
    std::uint32_t sleep_ns_ = 0;    // the last one since the last request
    IdlePolicy rest_;
    Clock clock_;
};

using BlockControl = BasicBlockControl<DeviceNear, DeviceFar, DeviceClock>;

// When a block ends by itself, 0 for never, and how it waits.
struct BlockLimits {
    std::uint64_t lifetime_ns;
    std::uint64_t silence_ns;  // of its host
    IdlePolicy idle{};

    [[nodiscard]] CARILLON_HD BlockControl control(ChannelView const& view,
                                                   DeviceClock clock) const {
        BlockControl control(view.control, view.status, lifetime_ns, clock);
        control.limit_silence(silence_ns);
        control.rest_by(idle);
        return control;
    }
};

namespace detail {

// What the first of the threads of a block found to do.
template <class Work>
struct Turn {
    Work work;
    std::uint32_t stop;
};

// Puts a reply, waiting for room; false if it is time to end instead.
CARILLON_POLICY_CODE
template <class Channel, class Control>
CARILLON_HD bool put_reply(Channel& channel, Line const& reply, OutOfLine data, Control& control) {
    while (!channel.replies.try_put(reply, data)) [[unlikely]] {
            if (control.stop_now()) return false;
            control.idle();
        }
    return true;
}

}  // namespace detail

// Answers every request with what `handler` makes of it, until told to stop.
CARILLON_POLICY_CODE
template <class Request, class Reply, class Near, class Far, class Handler, class Control>
CARILLON_HD void serve(DeviceChannel<Request, Reply, Near, Far> channel, Handler& handler,
                       Control control) {
    constexpr OutOfLine data = detail::out_of_line_of<Handler>();
    control.report_started();
    Line reply{};
    bool unsent = false;
    auto const answer = [&](Line const& request) {
        reply = pack<Reply>(handler(unpack<Request>(request)), 0);
        unsent = !channel.replies.try_put(reply, data);
    };
    for (;;) {
        // A request waits for half a poll on average, and whatever is done between two adds to
        // that: the rest is done here, after many.
        std::uint32_t const polls = control.polls_before_rest();
        if (!channel.requests.try_consume_within(
                polls, [&] { control.spin(); }, answer)) {
            control.rest(polls);
        } else if (!unsent) [[likely]] {
            if (!control.busy()) continue;
        } else {
            if (!detail::put_reply(channel, reply, data, control)) break;
            unsent = false;
            control.busy();  // after a wait that was for room, and not for a request
        }
        if (control.stop_now()) break;
    }
    control.report_ended();
}

namespace detail {

// Serves by all of `threads` together: the first of them takes work, `handle(work)` is for all, and
// the first answers with what it returned to that one. `take(work)` returns whether there was any,
// `answer(work, reply)` whether to go on. Control is for the first thread alone.
CARILLON_POLICY_CODE
template <class Work, class Control, SharingGroup Threads, class Take, class Handle, class Answer>
CARILLON_HD void serve_by_turns(Control& control, Threads threads, Take&& take, Handle&& handle,
                                Answer&& answer) {
    bool const leads = threads.thread_rank() == 0;
    bool stopping = false;  // the first one's, as are these
    bool due = false;
    auto const look_for_work = [&](Turn<Work>& turn) {
        turn.stop = 1;
        if (stopping || (due && control.stop_now())) return;
        do {
            std::uint32_t const polls = control.polls_before_rest();
            for (std::uint32_t in_vain = 0; in_vain < polls; ++in_vain) {
                if (take(turn.work)) {
                    turn.stop = 0;
                    return;
                }
                control.spin();
            }
            control.rest(polls);
        } while (!control.stop_now());
    };
    Turn<Work> own_turn;
    Turn<Work>& turn = threads.shared(own_turn);
    if (leads) control.report_started();
    for (;;) {
        if (leads) look_for_work(turn);
        threads.sync();
        if (turn.stop != 0) break;
        Work const work = turn.work;
        auto const reply = handle(work);
        threads.sync();  // all have read the turn, and what they wrote goes before the reply
        if (!leads) continue;
        stopping = !answer(work, reply);
        due = control.busy();
    }
    if (leads) control.report_ended();
}

}  // namespace detail

// The same by all of `threads` together, each of which has a handler of its own: the first looks
// for a request, all run the handler with it, and what it returns to the first is the reply. Where
// `has_express`, a request of `express` is served before any of `channel`: it waits for the one
// that is being served and for no other.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control, SharingGroup Threads>
CARILLON_HD void serve_together(bool has_express, Channel express, Channel channel,
                                Handler& handler, Control control, Threads threads) {
    using Request = typename Channel::RequestMessage;
    using Reply = typename Channel::ReplyMessage;
    struct Work {
        Line request;
        std::uint32_t urgent;
    };
    auto const take = [&](Work& work) {
        work.urgent = 1;
        if (has_express && express.requests.try_take(work.request)) return true;
        work.urgent = 0;
        return channel.requests.try_take(work.request);
    };
    auto const handle = [&](Work const& work) -> Reply {
        return handler(unpack<Request>(work.request));
    };
    auto const answer = [&](Work const& work, Reply const& reply) {
        constexpr OutOfLine data = detail::out_of_line_of<Handler>();
        Line const line = pack<Reply>(reply, 0);
        if (work.urgent != 0) return detail::put_reply(express, line, data, control);
        return detail::put_reply(channel, line, data, control);
    };
    detail::serve_by_turns<Work>(control, threads, take, handle, answer);
}

namespace detail {

// One request of `channel`, whose bell is heard as `rung`; whether there was one. The bell is ahead
// of what was taken, so there is a line or there will be. It is left where it is while there is no
// room for its reply: nobody is to wait for one channel's host.
CARILLON_POLICY_CODE
template <class Channel, class Handler>
CARILLON_HD bool serve_heard(Channel& channel, Sequence rung, Handler& handler) {
    // Bell and line arrive in any order, but hardly apart: a line that is late is looked at a few
    // times before the other channels have their turn.
    constexpr unsigned looks_at_line = 4;
    if (rung < channel.requests.next() || channel.replies.was_full()) {
        channel.requests.return_held();
        return false;
    }
    auto const answer = [&](Line const& request) {
        using Request = typename Channel::RequestMessage;
        using Reply = typename Channel::ReplyMessage;
        Line const reply = pack<Reply>(handler(unpack<Request>(request)), 0);
        (void)channel.replies.try_put(reply, out_of_line_of<Handler>());  // there is room
    };
    for (unsigned look = 0; look < looks_at_line; ++look) {
        if (channel.requests.try_consume(answer)) return true;
    }
    return false;
}

// A channel that a lane has to itself; or none, which is never heard of.
template <class Channel>
class Watched {
   public:
    CARILLON_HD Watched(Channel const* channels, unsigned index, unsigned count)
        : channel_(channels[index < count ? index : 0]),
          due_(index < count ? channel_.requests.next() : ~Sequence{0}) {}

    // Whether there is anything to do for it, now that its bell is heard as `rung`.
    [[nodiscard]] CARILLON_HD bool concerned(Sequence rung) const {
        return rung >= due_ || channel_.requests.held() != 0;
    }

    CARILLON_POLICY_CODE
    template <class Handler>
    CARILLON_HD bool serve(Sequence rung, Handler& handler) {
        if (!concerned(rung) || !serve_heard(channel_, rung, handler)) return false;
        due_ = channel_.requests.next();
        return true;
    }

   private:
    Channel channel_;
    Sequence due_;  // the request that comes next
};

// Sweeps by `look()`, which tells whether it served anyone, until told to stop.
CARILLON_POLICY_CODE
template <class Control, VotingGroup Lanes, class Look>
CARILLON_HD void sweep_until_stopped(Control& control, Lanes const& lanes, Look&& look) {
    bool const leads = lanes.thread_rank() == 0;
    if (leads) control.report_started();
    do {
        // As in serve(): nothing but sweeps, until what one has served took long.
        control.looked();
        std::uint32_t const sweeps = control.polls_before_rest();
        bool served = false;
        bool due = false;
        // The vote brings the lanes together: apart, they would load their bells apart.
        for (std::uint32_t sweep = 0; sweep < sweeps && !lanes.any(due); ++sweep) {
            if (look()) {
                served = true;
                due = control.busy();
            }
            control.spin();
        }
        // Who may sleep decides it together: a warp is as slow as its slowest lane.
        if (control.may_rest()) served = lanes.any(served);
        if (served) {
            control.busy();
        } else {
            control.rest(sweeps);
        }
    } while (!lanes.any(leads && control.stop_now()));
    if (leads) control.report_ended();
}

}  // namespace detail

// The same for `count` channels, whose hosts ring: `bells` is a word for each, at a multiple of 16
// bytes, and on a GPU room for bells_per_block of them. Every lane of a warp calls it, with the
// same channels in memory that all lanes see, and serves some of them; only lane 0 has to do with
// `control`.
//
// A sweep looks at all bells and serves at most one request of every channel: each that was there
// when the sweep looked at its bell, if its reply has room. So a request that a sweep finds waits
// for at most one of every other channel, count - 1; before that it may have missed the sweep that
// was under way when it came, which is as many again.
CARILLON_POLICY_CODE
template <class Channel, class Handler, class Control, class Near = DeviceNear,
          VotingGroup Lanes = WarpLanes>
CARILLON_HD void serve_watch(Channel* channels, unsigned count, std::uint64_t const* bells,
                             Handler& handler, Control control, Near near = Near(),
                             Lanes lanes = Lanes()) {
    if constexpr (2 * Lanes::most >= bells_per_block) {
        // A lane has two channels at most: what it knows of them stays in registers. Nearly every
        // sweep finds nothing, and how long that takes is a part of every round trip: one branch.
        unsigned const index = 2 * lanes.thread_rank();
        detail::Watched<Channel> first(channels, index, count);
        detail::Watched<Channel> second(channels, index + 1, count);
        std::uint64_t const* const own_bells = bells + index;
        detail::sweep_until_stopped(control, lanes, [&] {
            Quad const rung = near.load_pair(own_bells);
            if (!first.concerned(rung.low) && !second.concerned(rung.high)) [[likely]]
                return false;
            bool const served = first.serve(rung.low, handler);
            return second.serve(rung.high, handler) || served;
        });
    } else {
        detail::sweep_until_stopped(control, lanes, [&] {
            bool served = false;
            for (unsigned index = 2 * lanes.thread_rank(); index < count;
                 index += 2 * lanes.size()) {
                Quad const rung = near.load_pair(bells + index);
                served |= detail::serve_heard(channels[index], rung.low, handler);
                if (index + 1 == count) break;
                served |= detail::serve_heard(channels[index + 1], rung.high, handler);
            }
            return served;
        });
    }
}

}  // namespace carillon

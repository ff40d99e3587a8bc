// SPDX-License-Identifier: Apache-2.0
// What a block of a persistent kernel does: one thread polls, runs the handler and answers. The
// same code runs on the GPU and on the emulated device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/access/device.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/core/config.hpp"
#include "carillon/core/flag.hpp"
#include "carillon/endpoints.hpp"

namespace carillon {

// A block's side of its control and status lines.
template <class Near, class Far, class Clock>
class BasicBlockControl {
   public:
    // `lifetime_ns`: the block ends by itself after so long; 0 for never.
    CARILLON_HD BasicBlockControl(ControlLine* control, StatusLine* status,
                                  std::uint64_t lifetime_ns, Clock clock, Near near = Near(),
                                  Far far = Far())
        : stop_(&control->stop, near),
          multiprocessor_(&status->multiprocessor, far),
          started_(&status->started, far),
          ended_(&status->ended, far),
          lifetime_ns_(lifetime_ns),
          clock_(clock) {}

    CARILLON_POLICY_CODE
    CARILLON_HD void report_started() {
        began_ns_ = lifetime_ns_ == 0 ? 0 : clock_.now_ns();
        multiprocessor_.set(clock_.multiprocessor());
        started_.set(true, OutOfLine::written);  // whoever sees it reads the multiprocessor
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void report_ended() { ended_.set(true); }

    // Whether to end. Looks at the stop word at every 64th call: a look costs as much as a poll.
    CARILLON_POLICY_CODE
    CARILLON_HD bool should_stop() {
        if ((++looks_ & 63U) != 0) return false;
        if (stop_.get()) return true;
        return lifetime_ns_ != 0 && clock_.now_ns() - began_ns_ > lifetime_ns_;
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void busy() { idle_polls_ = 0; }
    CARILLON_POLICY_CODE
    CARILLON_HD void idle() { clock_.idle(++idle_polls_); }

   private:
    FlagReader<bool, Near> stop_;
    FlagWriter<std::uint64_t, Far> multiprocessor_;
    FlagWriter<bool, Far> started_;
    FlagWriter<bool, Far> ended_;
    std::uint64_t lifetime_ns_;
    std::uint64_t began_ns_ = 0;
    std::uint32_t looks_ = 0;
    std::uint32_t idle_polls_ = 0;
    Clock clock_;
};

using BlockControl = BasicBlockControl<DeviceNear, DeviceFar, DeviceClock>;

namespace detail {

// A handler that writes outside its reply says so with `static constexpr bool out_of_line = true`.
template <class Handler>
CARILLON_HD constexpr OutOfLine out_of_line_of() {
    if constexpr (requires { Handler::out_of_line; }) {
        return Handler::out_of_line ? OutOfLine::written : OutOfLine::none;
    } else {
        return OutOfLine::none;
    }
}

}  // namespace detail

// Answers every request with what `handler` makes of it, until told to stop.
CARILLON_POLICY_CODE
template <class Request, class Reply, class Near, class Far, class Handler, class Control>
CARILLON_HD void serve(DeviceChannel<Request, Reply, Near, Far> channel, Handler& handler,
                       Control control) {
    control.report_started();
    bool stopping = false;
    auto const answer = [&](Line const& request) {
        Line const reply = pack<Reply>(handler(unpack<Request>(request)), 0);
        while (!channel.replies.try_put(reply, detail::out_of_line_of<Handler>())) [[unlikely]] {
                if (control.should_stop()) {  // the reply ring stayed full
                    stopping = true;
                    return;
                }
                control.idle();
            }
    };
    while (!stopping && !control.should_stop()) {
        if (channel.requests.try_consume(answer)) {
            control.busy();
        } else {
            control.idle();
        }
    }
    control.report_ended();
}

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// A block's control, for every loop that serves requests: it reports the block's start and end,
// sees a stop and the host's heartbeat, and rests while no requests come. A block's end of its
// control and status lines.
#pragma once

#include <cstdint>

#include "carillon/detail/access/device_near_far.hpp"  // IWYU pragma: export
#include "carillon/detail/protocol/channel_view.hpp"   // IWYU pragma: export
#include "carillon/detail/protocol/flag_protocol.hpp"

namespace carillon::detail {

// IdlePolicy, for a block.
struct BlockRest {
    std::uint32_t polls = 0;
    std::uint32_t longest_sleep_ns = 0;
};

// A block's side of its control and status lines.
template <class Near, class Far, class Clock>
class BasicBlockControl {
   public:
    // `lifetime_ns`: the block ends itself after this time; 0: never.
    CARILLON_HD BasicBlockControl(ControlLine* control, StatusLine* status,
                                  std::uint64_t lifetime_ns, Clock clock, Near near = Near(),
                                  Far far = Far())
        : control_(control),
          near_(near),
          far_(far),
          sm_(&status->sm, far),
          started_(&status->started, far),
          ended_(&status->ended, far),
          beat_(&status->beat, far),
          lifetime_ns_(lifetime_ns),
          clock_(clock) {}

    // The block also ends itself after this time without a heartbeat of its host; 0: never.
    CARILLON_HD void limit_silence(std::uint64_t silence_ns) { silence_ns_ = silence_ns; }
    CARILLON_HD void rest_by(BlockRest const& rest) { rest_ = rest; }

    CARILLON_POLICY_CODE
    CARILLON_HD void report_started() {
        began_ns_ = heard_ns_ = beaten_ns_ = clock_.now_ns();
        sm_.set(clock_.sm());
        started_.set(true, OutOfLine::written);  // the host then reads the SM
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void report_ended() {
        if constexpr (requires { far_.settle(); }) far_.settle();
        ended_.set(reason_);
    }

    // Whether to end. Only one of many calls looks at the stop word: a look costs a poll.
    CARILLON_POLICY_CODE
    CARILLON_HD bool should_stop() { return look_due() && stop_now(); }
    // Whether this call looks.
    [[nodiscard]] CARILLON_HD bool look_due() { return ++looks_ % polls_before_look == 0; }
    // Whether to end. Looks at once.
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

    // Tells that another thread has looked at the stop word for this one.
    CARILLON_HD void looked() { looked_ticks_ = clock_.ticks(); }

    // Tells that a request was served. Returns true if the last look at the stop word is a while
    // ago: a stop must not wait for many requests, or for a slow one. The next should_stop() looks.
    CARILLON_POLICY_CODE
    CARILLON_HD bool busy() {
        spins_ = 0;
        idle_polls_ = 0;
        sleep_ns_ = 0;
        std::uint64_t const now = clock_.ticks();
        took_ticks_ = now - busy_ticks_;
        busy_ticks_ = now;
        return now - looked_ticks_ > long_ticks && look_next();
    }
    // Whether the last call came soon after the one before it. If no poll failed in between, the
    // work between the two took at most some microseconds.
    [[nodiscard]] CARILLON_HD bool was_quick() const { return took_ticks_ < quick_ticks; }
    // Tells that a poll found nothing. Returns true if it slept: a look at the stop word is then
    // cheap.
    CARILLON_POLICY_CODE
    CARILLON_HD bool idle() {
        spin();
        return rest(1);
    }
    // idle() in two parts, for a tight loop of polls: call spin() after each failed poll, and
    // rest(polls_before_rest()) after that many in a row.
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
    // Whether its policy allows sleep.
    [[nodiscard]] CARILLON_HD bool may_rest() const { return rest_.longest_sleep_ns != 0; }

   private:
    CARILLON_HD bool look_next() {
        looks_ = polls_before_look - 1;
        return true;
    }

    // A look at the stop word costs as much as a poll.
    static constexpr std::uint32_t polls_before_look = 64;
    static constexpr std::uint32_t first_sleep_ns = 100;
    // often enough for the host, and rare enough for the bus
    static constexpr std::uint64_t beat_period_ns = 1'000'000;
    static constexpr std::uint64_t long_ticks = 1'000'000;
    static constexpr std::uint64_t quick_ticks = 4096;

    ControlLine* control_;
    Near near_;
    Far far_;
    FlagWriter<std::uint64_t, Far> sm_;
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
    std::uint64_t busy_ticks_ = 0;  // when the last request was served,
    std::uint64_t took_ticks_ = 0;  // and how long after the one before it
    EndReason reason_ = EndReason::none;
    std::uint32_t looks_ = 0;
    std::uint32_t spins_ = 0;       // not needed by a GPU
    std::uint32_t idle_polls_ = 0;  // for a block that may rest
    std::uint32_t sleep_ns_ = 0;    // the last sleep since the last request
    BlockRest rest_;
    Clock clock_;
};

using BlockControl = BasicBlockControl<DeviceNear, DeviceFar, DeviceClock>;

// The times after which a block ends itself, 0 for never, and how it waits.
struct BlockLimits {
    std::uint64_t lifetime_ns;
    std::uint64_t silence_ns;  // silence of its host
    BlockRest rest{};

    [[nodiscard]] CARILLON_HD BlockControl control(ChannelView const& view,
                                                   DeviceClock clock) const {
        BlockControl control(view.control, view.status, lifetime_ns, clock);
        control.limit_silence(silence_ns);
        control.rest_by(rest);
        return control;
    }
};

// The threads of a block for which a body is compiled, which limits each thread's registers. 0:
// unspecified, the compiler chooses.
template <class Body>
inline constexpr unsigned most_threads_of = 0;

// The blocks of a kernel, as a member of its body.
struct KernelBlocks {
    ChannelTable channels;  // a block's first one has its control and status lines
    BlockLimits limits;
    bool oversubscribed;
    bool many;  // reply_far()

    [[nodiscard]] CARILLON_HD BlockControl control(ChannelView const& view) const {
        return limits.control(view, DeviceClock(oversubscribed));
    }
};

}  // namespace carillon::detail

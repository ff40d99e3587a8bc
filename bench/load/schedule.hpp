// SPDX-License-Identifier: Apache-2.0
// Sending on a fixed schedule. A message that is sent late does not shift those after it, and its
// latency counts from when it should have been sent: a stall is seen by all that it delays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "carillon/error.hpp"
#include "measure/interrupt.hpp"

namespace carillon::tool {

// The time at which message i, from 0, is due, in nanoseconds from the start.
class Schedule {
   public:
    // 0: all are due at once, so that the receiver decides the rate.
    explicit Schedule(double per_second) : interval_ns_(per_second > 0 ? 1e9 / per_second : 0) {}

    [[nodiscard]] std::int64_t due_ns(std::uint64_t i) const {
        return std::llround(static_cast<double>(i) * interval_ns_);
    }

   private:
    double interval_ns_;
};

struct LoadRun {
    double per_second = 0;   // achieved: from when the first was due to the last reply
    std::uint64_t late = 0;  // sent over a microsecond after they were due
};

// Sends `count` messages on schedule and takes their replies, in order, with one thread and at most
// `window` of them outstanding. `target.try_send(i)` and `target.try_take(i)` return at once
// whether they did it, `now()` is the time in nanoseconds. A latency for each is appended. Throws
// TimeoutError when no reply has come for `limit_ns`. After an interrupt no more are sent.
template <class Target, class Now>
LoadRun run_schedule(Schedule const& schedule, std::uint64_t count, std::uint64_t window,
                     std::int64_t limit_ns, Target& target, Now&& now,
                     std::vector<std::uint32_t>& latencies) {
    constexpr std::int64_t late_ns = 1000;
    LoadRun run;
    std::int64_t const start = now();
    std::int64_t at = 0;  // time, and time of the last reply, both from the start
    std::int64_t last = 0;
    std::uint64_t sent = 0;
    for (std::uint64_t taken = 0; taken < count;) {
        if (sent < count && sent - taken < window && schedule.due_ns(sent) <= at &&
            target.try_send(sent)) {
            if (at - schedule.due_ns(sent) > late_ns) ++run.late;
            ++sent;
        }
        bool const replied = taken < sent && target.try_take(taken);
        at = now() - start;
        if (interrupted()) count = sent;
        if (replied) {
            std::int64_t const latency = at - schedule.due_ns(taken);
            latencies.push_back(static_cast<std::uint32_t>(
                std::min<std::int64_t>(latency, std::numeric_limits<std::uint32_t>::max())));
            last = at;
            ++taken;
        } else if (taken < sent && at - std::max(last, schedule.due_ns(taken)) > limit_ns) {
            throw TimeoutError("load", "replies stopped coming");
        } else {
            target.idle();
        }
    }
    run.per_second =
        static_cast<double>(count) * 1e9 / static_cast<double>(std::max<std::int64_t>(last, 1));
    return run;
}

}  // namespace carillon::tool

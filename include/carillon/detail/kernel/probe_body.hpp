// SPDX-License-Identifier: Apache-2.0
// The body of blocks for which the CPU measures the near pages.
#pragma once

#include <cstdint>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// A probe's message: the line in which the block answers, and the line that it looks at next.
struct ProbeTrip {
    std::uint32_t reply;
    std::uint32_t next;
};

// The tags of one role's trips, which no other role takes for its own.
inline constexpr unsigned trip_bits = 20;
inline constexpr std::uint32_t most_probe_roles = 4000;
[[nodiscard]] CARILLON_HD constexpr Tag first_probe_tag(std::uint32_t role) {
    return (role + 1) << trip_bits;
}

// Returns every line where it says, and then looks where it says: the CPU leads the block over the
// pages. The CPU alone decides where a line arrives, so blocks share pages.
struct ProbeBody {
    ChannelTable candidates;
    std::uint64_t lifetime_ns;
    bool oversubscribed;

    CARILLON_POLICY_CODE
    CARILLON_HD void operator()(unsigned role) const {
        ChannelView const view = candidates.channel(role);
        auto const* const requests = reinterpret_cast<Line const*>(candidates.in_device_memory);
        auto* const replies = reinterpret_cast<Line*>(candidates.in_host_memory);
        BlockControl control(view.control, view.status, lifetime_ns, DeviceClock(oversubscribed));
        DeviceNear const near;
        DeviceFar const far;
        Line const* at = requests;
        Tag tag = first_probe_tag(role) + 1;
        control.report_started();
        while (!control.should_stop()) {
            Line const line = near.load_line(at);
            if (!has_arrived(line, tag)) {
                control.idle();
                continue;
            }
            control.busy();
            auto const trip = unpack<ProbeTrip>(line);
            far.store_line(replies + trip.reply, line, 0);
            at = requests + trip.next;
            ++tag;
        }
        control.report_ended();
    }
};

}  // namespace carillon::detail

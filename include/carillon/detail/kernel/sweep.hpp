// SPDX-License-Identifier: Apache-2.0
// How a warp serves: it sweeps over everything that it watches, again and again.
#pragma once

#include <cstdint>

#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Sweeps by `look()`, which returns whether it served anyone, until told to stop; calls `rested()`
// when a lane has found nothing for many sweeps in a row.
CARILLON_POLICY_CODE
template <class Control, VotingGroup Lanes, class Look, class Rested>
CARILLON_HD void sweep_until_stopped(Control& control, Lanes const& lanes, Look&& look,
                                     Rested&& rested) {
    bool const leads = lanes.thread_rank() == 0;
    if (leads) control.report_started();
    do {
        // Like in serve(), there are only sweeps until a request took long.
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
        // Lanes that may sleep decide together: a warp is as slow as its slowest lane.
        if (control.may_rest()) served = lanes.any(served);
        if (served) {
            control.busy();
        } else {
            control.rest(sweeps);
        }
    } while (!lanes.any(leads && control.stop_now()));
    if (leads) control.report_ended();
}

}  // namespace carillon::detail

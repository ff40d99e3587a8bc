// SPDX-License-Identifier: Apache-2.0
// Polls of a device thread that end: a lost message does not leave a kernel behind.
#pragma once

#include <carillon/detail/access/device_near_far.hpp>
#include <cstdint>

namespace carillon::tool {

// When a body gives up.
struct Bound {
    std::uint64_t ns;
    bool oversubscribed;
};

class BoundedPolls {
   public:
    CARILLON_HD explicit BoundedPolls(Bound bound)
        : bound_ns_(bound.ns), clock_(bound.oversubscribed), start_ns_(clock_.now_ns()) {}

    CARILLON_HD void found() { polls_ = 0; }
    // After `polls` unsuccessful polls, a power of two up to 1024: whether to go on.
    CARILLON_HD bool again(std::uint32_t polls = 1) {
        polls_ += polls;
        clock_.idle(polls_);
        return (polls_ & 1023U) != 0 || clock_.now_ns() - start_ns_ < bound_ns_;
    }

   private:
    std::uint64_t bound_ns_;
    DeviceClock clock_;
    std::uint64_t start_ns_;
    std::uint32_t polls_ = 0;
};

}  // namespace carillon::tool

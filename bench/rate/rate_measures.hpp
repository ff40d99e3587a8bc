// SPDX-License-Identifier: Apache-2.0
// The parts that the measures of `carillon-bench rate` share.
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rate/rate.hpp"

namespace carillon::tool {

// Limit for a kernel to take all messages that were sent, and to end; longer is an error.
inline constexpr std::chrono::seconds rate_limit{10};

struct RateStage {
    Device device;
    RateOptions options;
    unsigned processors;  // of the CPU

    // The device's blocks may need processors too.
    [[nodiscard]] bool oversubscribed() const {
        return device.traits().shares_processors && processors < 4;
    }
    // `wanted` threads, but no more than there are processors.
    [[nodiscard]] unsigned producers(unsigned wanted) const {
        return std::min(wanted, std::max(2U, processors));
    }
    [[nodiscard]] std::uint32_t threads_of(std::uint32_t warps) const {
        return warps * detail::lanes_per_warp;
    }
};

// One measure, with a figure per round.
class RateMeasure {
   public:
    virtual ~RateMeasure() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual RateUnit unit() const { return RateUnit::per_second; }
    [[nodiscard]] virtual nlohmann::json parameters() const = 0;
    [[nodiscard]] virtual double run(std::chrono::nanoseconds duration) = 0;
};

using RateMeasures = std::vector<std::unique_ptr<RateMeasure>>;

// Messages from the CPU to the device through MPMC rings.
void add_line_measures(RateStage const& stage, RateMeasures& measures);
// Messages from the CPU in page-locked memory.
void add_pinned_measures(RateStage const& stage, RateMeasures& measures);
// Messages from the device to the CPU.
void add_reply_measures(RateStage const& stage, RateMeasures& measures);
// Bare stores.
void add_store_measures(RateStage const& stage, RateMeasures& measures);
// Adds the measures of how long one push takes the calling thread.
void add_cost_measures(RateStage const& stage, RateMeasures& measures);

}  // namespace carillon::tool

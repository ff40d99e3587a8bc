// SPDX-License-Identifier: Apache-2.0
// The targets that `carillon-bench load` puts under load.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "load/load.hpp"

namespace carillon::tool {

// run_schedule over one of them: the loop is compiled for each, nothing virtual is inside it.
class LoadTarget {
   public:
    virtual ~LoadTarget() = default;
    virtual LoadRun run(Schedule const& schedule, std::uint64_t count, std::uint64_t window,
                        Samples& latencies) = 0;
};

inline constexpr std::int64_t load_limit_ns = 5'000'000'000;

[[nodiscard]] inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// A channel of a kernel that runs as long as the target lives.
[[nodiscard]] std::unique_ptr<LoadTarget> make_channel_target(Device const& device,
                                                              std::uint32_t capacity);
// A launch for each message, answered by a flag in host memory; nullptr on the emulated device and
// in a build without nvcc.
[[nodiscard]] std::unique_ptr<LoadTarget> make_launch_target(Device const& device);

}  // namespace carillon::tool

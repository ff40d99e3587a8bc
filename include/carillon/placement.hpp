// SPDX-License-Identifier: Apache-2.0
// Where a channel lies and where its block runs: nothing else decides as much about how long a call
// takes. Which page of memory is fast for an SM shows only when one looks, and it is
// another page in every process; which SMs and cores are fast stays
// (placement_profile.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/kernel/probe_body.hpp"
#include "carillon/device.hpp"
#include "carillon/launch.hpp"
#include "carillon/placement_profile.hpp"

namespace carillon {

// Where one block and its channel are.
struct BlockPlacement {
    std::uint32_t sm = any_sm;
    ChannelLocation location{};
    double p50_ns = 0;  // of the probe's round trips there; 0 where none was made
};

struct ChannelPlacement {
    std::vector<BlockPlacement> blocks;
    std::string why_not;  // what was left to chance, and why; empty when nothing was

    [[nodiscard]] std::vector<ChannelLocation> locations() const;
    [[nodiscard]] std::vector<std::uint32_t> sms() const;
};

struct TuneOptions {
    unsigned seconds = 5;  // no longer
    unsigned rounds = 40;  // of looks at every SM and page, while there is time
    bool cores = true;     // also which core is best to call from
};

namespace detail {

using LaunchProbe = RunningKernel (*)(Device const&, Pins const&, ProbeBody const&);

inline namespace CARILLON_TOOLCHAIN {
// A template: nvcc is to compile the probe only where somebody measures. That is where a call names
// it; of a function that is a default argument nvcc makes no device code.
struct ProbeLaunch {
    template <class Body>
    static RunningKernel run(Device const& device, Pins const& pins, Body const& body) {
        return launch_pinned(device, pins, body);
    }
};
}  // namespace CARILLON_TOOLCHAIN

[[nodiscard]] PlacementProfile tune(Device const& device, TuneOptions const& options,
                                    LaunchProbe launch);
[[nodiscard]] ChannelPlacement place_channels(Device const& device, ChannelMemory& candidates,
                                              unsigned blocks, PlacementProfile const& profile,
                                              LaunchProbe launch);

}  // namespace detail

// Measures every SM, pages of both memories, and the cores that the calling thread may
// run on, from the calling thread: it is moved about meanwhile. Throws UsageError, TimeoutError
// when the device does not answer, and what Device::allocate and launch throw.
template <class Launch = detail::ProbeLaunch>
[[nodiscard]] PlacementProfile tune(Device const& device, TuneOptions const& options = {}) {
    return detail::tune(device, options, &Launch::template run<detail::ProbeBody>);
}

// Measures which parts of `candidates`, memory for more channels than are needed, suit `blocks`
// blocks on the profile's best SMs. Blocks that the profile has no
// SM for are measured where they happen to run. The rings in the memory are made empty:
// then arrange() it as the result says, and launch with Pins of the result. Throws UsageError for
// fewer candidates than blocks or none, TimeoutError, and what launch throws.
template <class Launch = detail::ProbeLaunch>
[[nodiscard]] ChannelPlacement place_channels(Device const& device, ChannelMemory& candidates,
                                              unsigned blocks, PlacementProfile const& profile) {
    return detail::place_channels(device, candidates, blocks, profile,
                                  &Launch::template run<detail::ProbeBody>);
}

}  // namespace carillon

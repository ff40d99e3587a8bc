// SPDX-License-Identifier: Apache-2.0
// Measurements of pages, SMs and cores: the library's part, and the launch, which only the program
// can compile.
#pragma once

#include "carillon/channel_memory.hpp"
#include "carillon/detail/kernel/probe_body.hpp"
#include "carillon/device.hpp"
#include "carillon/launch.hpp"

namespace carillon {
struct ChannelPlacement;
struct PlacementProfile;
struct TuneOptions;
}  // namespace carillon

namespace carillon::detail {

using LaunchProbe = RunningKernel (*)(Device const&, Pins const&, ProbeBody const&);

inline namespace CARILLON_TOOLCHAIN {
// A template: nvcc makes device code of it only if a call instantiates a caller, a template too.
template <class Body>
RunningKernel launch_probe(Device const& device, Pins const& pins, Body const& body) {
    return launch_pinned(device, pins, body);
}
}  // namespace CARILLON_TOOLCHAIN

[[nodiscard]] PlacementProfile tune(Device const& device, TuneOptions const& options,
                                    LaunchProbe launch);
[[nodiscard]] ChannelPlacement place_channels(Device const& device, ChannelMemory& candidates,
                                              unsigned blocks, PlacementProfile const& profile,
                                              LaunchProbe launch);

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Where a channel lies, where its block runs and where the thread that calls: nothing else decides
// as much about how long a call takes. Which page of memory is fast for an SM shows only
// when one looks, and it is another page in every process; which SMs and cores are fast
// stays, and a profile of them is kept.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/probe_launch.hpp"
#include "carillon/detail/kernel/probe_body.hpp"
#include "carillon/device.hpp"
#include "carillon/device_info.hpp"
#include "carillon/launch.hpp"

namespace carillon {

// An SM or a core, and the median round trip from there, in nanoseconds.
struct RankedProcessor {
    std::uint32_t id = 0;
    double p50_ns = 0;
};

// How far the medians of several places lie apart, in nanoseconds.
struct LatencySpread {
    double best_ns = 0;
    double median_ns = 0;
    double worst_ns = 0;
};

// What `carillon tune` found out about one GPU and the machine around it, kept in a file. Pages of
// memory are not in it: other processes get other pages, so each measures its own.
struct PlacementProfile {
    std::string uuid;                    // DeviceInfo::uuid; empty for the emulated device
    std::vector<RankedProcessor> sms;    // best first, each with its best page
    std::vector<RankedProcessor> cores;  // best first
    LatencySpread request_pages;         // from the best SM
    LatencySpread reply_pages;           // with its best request page
    std::string device;                  // its name, for people
    std::string driver;                  // DeviceInfo::kernel_driver
    std::string date;                    // when it was measured, UTC
};

// Where the profile of a device is kept: in $CARILLON_PROFILES, or $XDG_CONFIG_HOME or ~/.config
// under carillon/placement, as <uuid>.json, emulated.json for the emulated device. Throws
// UsageError when neither of these variables nor $HOME is set.
[[nodiscard]] std::filesystem::path placement_profile_path(DeviceInfo const& info);

// Throws SystemError when the file cannot be read; FormatError, which names it, when it is not a
// profile, of another version, or of another device.
[[nodiscard]] PlacementProfile load_placement_profile(PathArgument const& path,
                                                      DeviceInfo const& info);

// Writes a new file in place of an old one, and its folders where they are missing: it is on the
// disk on return. Bytes of a text that are not UTF-8 become U+FFFD. Throws SystemError; what was
// there is there still then, unless only its folder could not be written to the disk.
void save_placement_profile(PlacementProfile const& profile, PathArgument const& path);

// The profile of a device where it is kept, or nothing and the reason: never an error.
[[nodiscard]] std::optional<PlacementProfile> find_placement_profile(DeviceInfo const& info,
                                                                     std::string& why_not);

// Where one block and its channel are.
struct BlockPlacement {
    std::uint32_t sm = any_sm;
    ChannelLocation location{};  // of its channel, in both memories
    double p50_ns = 0;           // of the probe's round trips there; 0 where none was made
};

// Where a kernel's blocks and channels are.
struct ChannelPlacement {
    std::vector<BlockPlacement> blocks;  // none where all was left to chance
    std::string why_not;                 // what was left to chance, and why; empty when nothing was

    // One of each block: for ChannelMemory::arrange, and for Pins.
    [[nodiscard]] std::vector<ChannelLocation> locations() const;
    [[nodiscard]] std::vector<std::uint32_t> sms() const;
};

// How long tune() measures, and what.
struct TuneOptions {
    unsigned seconds = 5;  // no longer
    unsigned rounds = 40;  // of looks at every SM and page, while there is time
    bool cores = true;     // also which core is best to call from
};

inline namespace CARILLON_TOOLCHAIN {

// Measures every SM, pages of both memories, and the cores that the calling thread may
// run on, from the calling thread: it is moved about meanwhile. Throws UsageError, TimeoutError
// when the device does not answer, and what Device::allocate and launch throw.
[[nodiscard]] PlacementProfile tune(std::same_as<Device> auto const& device,
                                    TuneOptions const& options = {}) {
    return detail::in_call("tune", [&] {
        return detail::tune(device, options, &detail::launch_probe<detail::ProbeBody>);
    });
}

// Measures which parts of `candidates`, memory for more channels than are needed, suit `blocks`
// blocks on the profile's best SMs. Blocks that the profile has no
// SM for are measured where they happen to run. The rings in the memory are made empty:
// then arrange() it as the result says, and launch with Pins of the result. Throws UsageError for
// fewer candidates than blocks or none, TimeoutError, and what launch throws.
[[nodiscard]] ChannelPlacement place_channels(std::same_as<Device> auto const& device,
                                              ChannelMemory& candidates, unsigned blocks,
                                              PlacementProfile const& profile) {
    return detail::in_call("place_channels", [&] {
        return detail::place_channels(device, candidates, blocks, profile,
                                      &detail::launch_probe<detail::ProbeBody>);
    });
}

}  // namespace CARILLON_TOOLCHAIN

}  // namespace carillon

// SPDX-License-Identifier: Apache-2.0
// Placement: where a channel lies, and where its block and the calling thread run. It affects the
// time of a call more than anything else. The fast page of memory for an SM must be measured in
// every process; the fast SMs and cores stay the same, and a profile stores them.
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
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/launch.hpp"

namespace carillon {

// An SM or a core, and the median round trip from it, in nanoseconds.
struct RankedProcessor {
    std::uint32_t id = 0;
    double p50_ns = 0;
};

// The spread of the medians of several places, in nanoseconds.
struct LatencySpread {
    double best_ns = 0;
    double median_ns = 0;
    double worst_ns = 0;
};

// Results of `carillon tune` for one GPU and its machine, stored in a file. Pages of memory are not
// in it: every process gets other pages, and measures them.
struct PlacementProfile {
    std::string uuid;                    // DeviceInfo::uuid; empty for the emulated device
    std::vector<RankedProcessor> sms;    // best first, each with its best page
    std::vector<RankedProcessor> cores;  // best first
    LatencySpread request_pages;         // measured from the best SM
    LatencySpread reply_pages;           // measured with the best request page
    std::string device;                  // its name, for people
    std::string driver;                  // DeviceInfo::kernel_driver
    std::string date;                    // date of the measurement, UTC
};

// Returns the path of a device's profile: <uuid>.json, or emulated.json for the emulated device, in
// $CARILLON_PROFILES, or in carillon/placement under $XDG_CONFIG_HOME or ~/.config. Throws
// UsageError if neither of these variables nor $HOME is set.
[[nodiscard]] std::filesystem::path placement_profile_path(DeviceInfo const& info);

// Reads a profile. Throws SystemError if the file cannot be read; FormatError, which names the
// file, if it is no profile, or belongs to another version or device.
[[nodiscard]] PlacementProfile load_placement_profile(PathArgument const& path,
                                                      DeviceInfo const& info);

// Writes or replaces the file, and makes missing folders. When it returns, the file is on the disk.
// Bytes of a text that are not UTF-8 become U+FFFD. Throws SystemError: the old file is then still
// there, unless only the folder could not be written to the disk.
void save_placement_profile(PlacementProfile const& profile, PathArgument const& path);

// Returns the stored profile of a device, or nothing and the reason. Never throws.
[[nodiscard]] std::optional<PlacementProfile> find_placement_profile(DeviceInfo const& info,
                                                                     std::string& why_not);

// The place of one block and its channel.
struct BlockPlacement {
    std::uint32_t sm = any_sm;
    ChannelLocation location{};  // the place of its channel, in both memories
    double p50_ns = 0;           // the median of round trips measured there; 0 if none
};

// The places of a kernel's blocks and channels.
struct ChannelPlacement {
    std::vector<BlockPlacement> blocks;  // empty: nothing was placed
    std::string why_not;  // the unplaced parts and the reason; empty if all are placed

    // One entry per block: for ChannelMemory::arrange, and for Pins.
    [[nodiscard]] std::vector<ChannelLocation> locations() const;
    [[nodiscard]] std::vector<std::uint32_t> sms() const;
};

// The extent of tune()'s measurements.
struct TuneOptions {
    unsigned seconds = 5;  // the longest time of the measurements, 1 to 86400
    unsigned rounds = 40;  // measurements of every SM and page, if there is time; 1 to 10000
    bool cores = true;     // also measure the cores to call from
};

namespace detail {

// A probe's message: the line in which the block answers, and the line that it polls next.
struct ProbeTrip {
    std::uint32_t reply;
    std::uint32_t next;
};

// The first tag of a role's trips; no other role uses its tags.
inline constexpr unsigned trip_bits = 20;
inline constexpr std::uint32_t most_probe_roles = 4000;
[[nodiscard]] CARILLON_HD constexpr Tag first_probe_tag(std::uint32_t role) {
    return (role + 1) << trip_bits;
}

// Answers each line in the line that it names, and then polls the next line that it names: so the
// CPU leads the block over the pages. The CPU alone decides where a line arrives, so blocks share
// pages.
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

// The launch, which only the program can compile.
using LaunchProbe = RunningKernel (*)(Device const&, Pins const&, ProbeBody const&);

inline namespace CARILLON_TOOLCHAIN {
// A template: nvcc makes device code of it only if a program calls tune() or place_channels().
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

}  // namespace detail

inline namespace CARILLON_TOOLCHAIN {

// Measures every SM, pages of both memories, and the cores that the calling thread may run on, and
// returns the profile. It moves the calling thread from core to core. Throws UsageError,
// TimeoutError if the device does not answer, and what Device::allocate and launch throw.
[[nodiscard]] PlacementProfile tune(std::same_as<Device> auto const& device,
                                    TuneOptions const& options = {}) {
    return detail::in_call("tune", [&] {
        return detail::tune(device, options, &detail::launch_probe<detail::ProbeBody>);
    });
}

// Measures which parts of `candidates`, memory for more channels than needed, are fast for `blocks`
// blocks on the profile's best SMs. Blocks without an SM in the profile are measured wherever they
// run. Empties the rings in the memory. Pass the result to ChannelMemory::arrange, and launch with
// Pins made of it. Throws UsageError for fewer candidates than blocks or none, TimeoutError, and
// what launch throws.
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

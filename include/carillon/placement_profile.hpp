// SPDX-License-Identifier: Apache-2.0
// What `carillon tune` found out about one GPU and the machine around it, kept in a file.
// Pages of memory are not in it: other processes get other pages, so each measures its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "carillon/device_info.hpp"

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
[[nodiscard]] PlacementProfile load_placement_profile(std::filesystem::path const& path,
                                                      DeviceInfo const& info);

// Writes a new file in place of an old one, and its folders where they are missing: it is on the
// disk on return. Bytes of a text that are not UTF-8 become U+FFFD. Throws SystemError; what was
// there is there still then, unless only its folder could not be written to the disk.
void save_placement_profile(PlacementProfile const& profile, std::filesystem::path const& path);

// The profile of a device where it is kept, or nothing and the reason: never an error.
[[nodiscard]] std::optional<PlacementProfile> find_placement_profile(DeviceInfo const& info,
                                                                     std::string& why_not);

}  // namespace carillon

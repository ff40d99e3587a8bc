// SPDX-License-Identifier: Apache-2.0
#include "carillon/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "carillon/error.hpp"
#include "placement/placement_probe.hpp"

namespace carillon {

std::vector<ChannelLocation> ChannelPlacement::locations() const {
    std::vector<ChannelLocation> all;
    for (BlockPlacement const& block : blocks) all.push_back(block.location);
    return all;
}

std::vector<std::uint32_t> ChannelPlacement::sms() const {
    std::vector<std::uint32_t> all;
    for (BlockPlacement const& block : blocks) all.push_back(block.sm);
    return all;
}

namespace detail {
namespace {

constexpr unsigned most_candidates = most_probe_roles;  // trips have numbers of 20 bits
constexpr unsigned trips_each = 30;  // the median of so many is accurate to one percent
// The limit for all measurements together: on a busy machine the results so far must do.
constexpr std::chrono::milliseconds time_limit{500};
constexpr std::chrono::seconds kernel_limit{10};

// Leads a role over all `locations`, round by round, and returns the fastest.
std::size_t fastest(Prober& prober, unsigned role, std::vector<ChannelLocation> const& locations,
                    Prober::Clock::time_point deadline, double& p50_ns) {
    std::vector<ProbeSamples> samples(locations.size());
    for (unsigned round = 0; round < trips_each; ++round) {
        if (round > 0 && Prober::Clock::now() >= deadline) break;
        prober.walk(role, locations, samples);
    }
    std::vector<double> medians;
    medians.reserve(samples.size());
    for (ProbeSamples& each : samples) medians.push_back(median_of(each));
    auto const best = std::min_element(medians.begin(), medians.end());
    p50_ns = *best;
    return static_cast<std::size_t>(best - medians.begin());
}

// Chooses one block's parts among the free ones, the request's first, and takes them.
BlockPlacement place_block(Prober& prober, unsigned role, std::vector<std::uint32_t>& device_parts,
                           std::vector<std::uint32_t>& host_parts,
                           Prober::Clock::time_point deadline) {
    BlockPlacement block;
    std::vector<ChannelLocation> locations;
    locations.reserve(std::max(device_parts.size(), host_parts.size()));
    for (std::uint32_t part : device_parts) locations.push_back({part, host_parts.front()});
    std::size_t const device = fastest(prober, role, locations, deadline, block.p50_ns);
    locations.clear();
    for (std::uint32_t part : host_parts) locations.push_back({device_parts[device], part});
    std::size_t const host = fastest(prober, role, locations, deadline, block.p50_ns);
    block.location = locations[host];
    block.sm = prober.sm(role);
    device_parts.erase(device_parts.begin() + static_cast<std::ptrdiff_t>(device));
    host_parts.erase(host_parts.begin() + static_cast<std::ptrdiff_t>(host));
    return block;
}

}  // namespace

ChannelPlacement place_channels(Device const& device, ChannelMemory& candidates, unsigned blocks,
                                PlacementProfile const& profile, LaunchProbe launch) {
    if (blocks == 0) throw UsageError("at least one block is needed");
    if (blocks > candidates.channels()) {
        throw UsageError(
            fmt::format("{} candidates are too few for {} blocks", candidates.channels(), blocks));
    }
    if (candidates.channels() > most_candidates) {
        throw UsageError(fmt::format("{} candidates are too many: {} will do",
                                     candidates.channels(), most_candidates));
    }
    std::vector<std::uint32_t> wanted(blocks, any_sm);
    for (std::size_t i = 0; i < std::min(wanted.size(), profile.sms.size()); ++i) {
        wanted[i] = profile.sms[i].id;
    }
    std::vector<std::uint32_t> device_parts(candidates.channels());
    std::iota(device_parts.begin(), device_parts.end(), 0U);
    std::vector<std::uint32_t> host_parts = device_parts;

    Prober prober(device, candidates, Pins(device, wanted), launch, kernel_limit);
    auto const deadline = Prober::Clock::now() + time_limit;
    ChannelPlacement placement;
    for (unsigned role = 0; role < blocks; ++role) {
        placement.blocks.push_back(place_block(prober, role, device_parts, host_parts, deadline));
    }
    prober.stop();
    return placement;
}

}  // namespace detail
}  // namespace carillon

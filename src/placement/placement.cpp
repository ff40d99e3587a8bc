// SPDX-License-Identifier: Apache-2.0
#include "carillon/placement.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "carillon/cores.hpp"
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

using Clock = Prober::Clock;

constexpr unsigned most_candidates = most_probe_roles;  // trips have numbers of 20 bits
constexpr unsigned trips_each = 30;  // the median of so many is accurate to one percent
// The limit for all measurements together: on a busy machine the results so far must do.
constexpr std::chrono::milliseconds time_limit{500};
constexpr std::chrono::seconds kernel_limit{10};

std::vector<double> medians_of(std::vector<ProbeSamples>& samples) {
    std::vector<double> medians;
    medians.reserve(samples.size());
    for (ProbeSamples& each : samples) medians.push_back(median_of(each));
    return medians;
}

// Leads a role over all `locations`, round by round while there is time, and at least once.
std::vector<double> medians_of(Prober& prober, unsigned role,
                               std::vector<ChannelLocation> const& locations, unsigned rounds,
                               Clock::time_point deadline) {
    std::vector<ProbeSamples> samples(locations.size());
    for (unsigned round = 0; round < rounds; ++round) {
        if (round > 0 && Clock::now() >= deadline) break;
        prober.walk(role, locations, samples);
    }
    return medians_of(samples);
}

std::size_t fastest(std::vector<double> const& medians) {
    return static_cast<std::size_t>(std::min_element(medians.begin(), medians.end()) -
                                    medians.begin());
}

// Chooses one block's parts among the free ones, the request's first, and takes them.
BlockPlacement place_block(Prober& prober, unsigned role, std::vector<std::uint32_t>& device_parts,
                           std::vector<std::uint32_t>& host_parts, Clock::time_point deadline) {
    BlockPlacement block;
    std::vector<ChannelLocation> locations;
    locations.reserve(std::max(device_parts.size(), host_parts.size()));
    for (std::uint32_t part : device_parts) locations.push_back({part, host_parts.front()});
    std::size_t const device = fastest(medians_of(prober, role, locations, trips_each, deadline));
    locations.clear();
    for (std::uint32_t part : host_parts) locations.push_back({device_parts[device], part});
    auto const medians = medians_of(prober, role, locations, trips_each, deadline);
    std::size_t const host = fastest(medians);
    block.location = locations[host];
    block.p50_ns = medians[host];
    block.sm = prober.sm(role);
    device_parts.erase(device_parts.begin() + static_cast<std::ptrdiff_t>(device));
    host_parts.erase(host_parts.begin() + static_cast<std::ptrdiff_t>(host));
    return block;
}

constexpr std::uint32_t capacity = 64;  // slots that fill one page
constexpr std::uint32_t pages = 16;     // enough of every kind: they alternate
constexpr unsigned reply_rounds = 64;
constexpr unsigned core_turns = 4;
constexpr unsigned trips_a_turn = 100;

// One role's trips through each request page.
struct RolePages {
    unsigned role = 0;
    std::vector<ProbeSamples> samples = std::vector<ProbeSamples>(pages);
    std::vector<double> medians;

    [[nodiscard]] std::uint32_t best_page() const {
        return static_cast<std::uint32_t>(fastest(medians));
    }
    [[nodiscard]] double best() const { return medians[best_page()]; }
};

LatencySpread spread_of(std::vector<double> medians) {
    std::sort(medians.begin(), medians.end());
    return {medians.front(), medians[medians.size() / 2], medians.back()};
}

// Measures all roles over all request pages, round by round; returns the best role first. Every
// request page meets every reply page, so that no figure depends on one reply page.
std::vector<RolePages> measure_roles(Prober& prober, unsigned roles, unsigned rounds,
                                     Clock::time_point deadline) {
    std::vector<RolePages> all;
    for (unsigned role = 0; role < roles; ++role) {
        if (!prober.started(role)) continue;
        all.emplace_back();
        all.back().role = role;
    }
    if (all.empty()) throw TimeoutError("no block of the probe has started");
    std::vector<ChannelLocation> locations(pages);
    for (unsigned round = 0; round < rounds; ++round) {
        for (std::uint32_t page = 0; page < pages; ++page) {
            locations[page] = {page, (page + round) % pages};
        }
        for (RolePages& each : all) {
            if (round > 0 && Clock::now() >= deadline) break;
            prober.walk(each.role, locations, each.samples);
        }
    }
    for (RolePages& each : all) each.medians = medians_of(each.samples);
    std::sort(all.begin(), all.end(),
              [](RolePages const& a, RolePages const& b) { return a.best() < b.best(); });
    return all;
}

// The cores that this thread may run on, best first; they take turns.
std::vector<RankedProcessor> measure_cores(Prober& prober, unsigned role, ChannelLocation location,
                                           Clock::time_point deadline) {
    std::vector<unsigned> const cores = allowed_cores();
    std::vector<ProbeSamples> samples(cores.size());
    for (unsigned turn = 0; turn < core_turns; ++turn) {
        for (std::size_t i = 0; i < cores.size(); ++i) {
            if (Clock::now() >= deadline) break;
            OnCore const here(cores[i]);
            ProbeSamples first;  // fetches data from the previous core's caches
            prober.walk(role, {&location, 1}, {&first, 1});
            for (unsigned trip = 0; trip < trips_a_turn && Clock::now() < deadline; ++trip) {
                prober.walk(role, {&location, 1}, {&samples[i], 1});
            }
        }
    }
    std::vector<RankedProcessor> ranked;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        if (!samples[i].empty()) ranked.push_back({cores[i], median_of(samples[i])});
    }
    std::sort(ranked.begin(), ranked.end(), [](RankedProcessor const& a, RankedProcessor const& b) {
        return a.p50_ns < b.p50_ns;
    });
    return ranked;
}

// Best first, each once.
std::vector<RankedProcessor> ranked_sms(Prober const& prober, std::vector<RolePages> const& roles) {
    std::vector<RankedProcessor> ranked;
    for (RolePages const& each : roles) {
        std::uint32_t const id = prober.sm(each.role);
        auto const same = [&](RankedProcessor const& location) { return location.id == id; };
        if (std::none_of(ranked.begin(), ranked.end(), same)) ranked.push_back({id, each.best()});
    }
    return ranked;
}

}  // namespace

ChannelPlacement place_channels(Device const& device, ChannelMemory& candidates, unsigned blocks,
                                PlacementProfile const& profile, LaunchProbe launch) {
    if (blocks == 0) throw UsageError("0 blocks requested: at least one is needed");
    if (blocks > candidates.channels()) {
        throw UsageError(
            fmt::format("{} candidates are too few for {} blocks", candidates.channels(), blocks));
    }
    if (candidates.channels() > most_candidates) {
        throw UsageError(fmt::format("{} candidates are too many: use at most {}",
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
    auto const deadline = Clock::now() + time_limit;
    ChannelPlacement placement;
    for (unsigned role = 0; role < blocks; ++role) {
        placement.blocks.push_back(place_block(prober, role, device_parts, host_parts, deadline));
    }
    prober.stop();
    return placement;
}

PlacementProfile tune(Device const& device, TuneOptions const& options, LaunchProbe launch) {
    if (options.seconds == 0 || options.seconds > 86'400 || options.rounds == 0 ||
        options.rounds > 10'000) {
        throw UsageError(
            fmt::format("TuneOptions::seconds is {} and TuneOptions::rounds is {}: use 1 to 86400 "
                        "and 1 to 10000",
                        options.seconds, options.rounds));
    }
    DeviceInfo const& info = device.info();
    // One block for each SM: the scheduler spreads the first ones over all of them.
    auto const roles = std::min(static_cast<unsigned>(info.sm_count.value_or(1)), most_probe_roles);
    ChannelMemory memory(device, std::max(roles, pages), capacity);
    std::chrono::nanoseconds const limit = std::chrono::seconds(options.seconds);
    auto const start = Clock::now();
    Prober prober(device, memory, Pins(roles), launch, 2 * limit + std::chrono::seconds(10));
    auto const measured = measure_roles(prober, roles, options.rounds, start + limit * 6 / 10);
    RolePages const& best = measured.front();
    std::vector<ChannelLocation> locations;
    for (std::uint32_t page = 0; page < pages; ++page) {
        locations.push_back({best.best_page(), page});
    }
    std::vector<double> const replies =
        medians_of(prober, best.role, locations, reply_rounds, start + limit * 7 / 10);
    auto const reply_page = static_cast<std::uint32_t>(fastest(replies));

    PlacementProfile profile;
    profile.uuid = info.uuid;
    profile.device = info.name;
    profile.driver = info.kernel_driver;
    profile.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    profile.sms = ranked_sms(prober, measured);
    profile.request_pages = spread_of(best.medians);
    profile.reply_pages = spread_of(replies);
    if (options.cores) {
        profile.cores =
            measure_cores(prober, best.role, {best.best_page(), reply_page}, start + limit);
    }
    prober.stop();
    return profile;
}

}  // namespace detail
}  // namespace carillon

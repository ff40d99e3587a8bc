// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "carillon/cores.hpp"
#include "carillon/error.hpp"
#include "carillon/placement.hpp"
#include "placement/placement_probe.hpp"

namespace carillon::detail {
namespace {

using Clock = Prober::Clock;

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
        auto const best = std::min_element(medians.begin(), medians.end());
        return static_cast<std::uint32_t>(best - medians.begin());
    }
    [[nodiscard]] double best() const { return medians[best_page()]; }
};

LatencySpread spread_of(std::vector<double> medians) {
    std::sort(medians.begin(), medians.end());
    return {medians.front(), medians[medians.size() / 2], medians.back()};
}

std::vector<double> medians_of(std::vector<ProbeSamples>& samples) {
    std::vector<double> medians;
    medians.reserve(samples.size());
    for (ProbeSamples& each : samples) medians.push_back(median_of(each));
    return medians;
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

// The medians of the reply pages, with one request page.
std::vector<double> measure_reply_pages(Prober& prober, unsigned role, std::uint32_t request_page,
                                        Clock::time_point deadline) {
    std::vector<ChannelLocation> locations;
    for (std::uint32_t page = 0; page < pages; ++page) locations.push_back({request_page, page});
    std::vector<ProbeSamples> samples(pages);
    for (unsigned round = 0; round < reply_rounds; ++round) {
        if (round > 0 && Clock::now() >= deadline) break;
        prober.walk(role, locations, samples);
    }
    return medians_of(samples);
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

PlacementProfile tune(Device const& device, TuneOptions const& options, LaunchProbe launch) {
    if (options.seconds == 0 || options.seconds > 86'400 || options.rounds == 0 ||
        options.rounds > 10'000) {
        throw UsageError("1 to 86400 seconds and 1 to 10000 rounds are possible");
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
    std::vector<double> const replies =
        measure_reply_pages(prober, best.role, best.best_page(), start + limit * 7 / 10);
    auto const reply_page = static_cast<std::uint32_t>(
        std::min_element(replies.begin(), replies.end()) - replies.begin());

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

}  // namespace carillon::detail

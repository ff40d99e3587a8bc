// SPDX-License-Identifier: Apache-2.0
#include "load/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <carillon/error.hpp>

#include "load/targets.hpp"
#include "measure/turns.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t gpu_samples = 200'000;
constexpr std::uint32_t emulated_samples = 20'000;

// A level while it is measured.
struct Running {
    LoadLevel level;
    std::uint64_t window = 1;
    Samples samples{};
    std::vector<double> achieved{};
};

// Room for `count` samples, all of it touched: no page of it is first seen while time is taken.
Samples room_for(std::size_t count) {
    Samples samples(count);
    samples.clear();
    return samples;
}

// The highest rate: every call is due at once, and as many are outstanding as there are slots. 0 if
// an interrupt comes before.
double highest_rate(LoadTarget& target, std::uint32_t count, std::uint64_t window) {
    constexpr int runs = 5;
    std::vector<double> rates;
    for (int i = 0; i <= runs; ++i) {  // the first warms up
        Samples ignored = room_for(count);
        double const rate = target.run(Schedule(0), count, window, ignored).per_second;
        if (interrupted()) break;
        if (i != 0) rates.push_back(rate);
    }
    if (rates.empty()) return 0;
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

Running make_level(std::string name, unsigned percent, double highest, std::uint64_t window,
                   std::size_t samples) {
    Running running{{}, window, room_for(samples)};
    running.level.latency.name = std::move(name);
    running.level.percent = percent;
    running.level.offered = highest * percent / 100;
    return running;
}

// One call at a time: each is due when the one before it is done.
void run_idle(LoadTarget& target, Running& running, std::uint32_t count) {
    Samples one = room_for(count);
    double seconds = 0;
    for (std::uint32_t i = 0; i < count && !interrupted(); ++i) {
        seconds += 1 / target.run(Schedule(0), 1, 1, one).per_second;
    }
    running.samples.insert(running.samples.end(), one.begin(), one.end());
    if (one.empty()) return;
    running.achieved.push_back(static_cast<double>(one.size()) / seconds);
}

void run_level(LoadTarget& target, Running& running, std::uint32_t count) {
    if (running.level.percent == 0) return run_idle(target, running, count);
    LoadRun const run =
        target.run(Schedule(running.level.offered), count, running.window, running.samples);
    running.achieved.push_back(run.per_second);
    running.level.late += run.late;
}

void finish(Running& running, std::vector<LoadLevel>& levels) {
    if (running.samples.empty()) return;  // an interrupt came before
    running.level.latency = summarize(running.level.latency.name, running.samples);
    std::sort(running.achieved.begin(), running.achieved.end());
    running.level.achieved = running.achieved[running.achieved.size() / 2];
    levels.push_back(std::move(running.level));
}

// Loads by share of the highest rate of one channel, which is measured first.
void load_channel(Device const& device, LoadOptions const& options, std::uint32_t samples,
                  Progress const& progress, LoadResult& result) {
    std::uint32_t const each = samples / options.rounds;
    auto const channel = make_channel_target(device, options.capacity);
    result.channel_per_second = highest_rate(*channel, each, options.capacity);
    std::vector<Running> levels{make_level("idle", 0, 0, 1, samples)};
    for (unsigned percent : {10U, 25U, 50U, 80U, 95U}) {
        levels.push_back(make_level(fmt::format("load-{}", percent), percent,
                                    result.channel_per_second, options.capacity, samples));
    }
    take_turns(options.rounds, levels.size(), progress,
               [&](std::size_t level) { run_level(*channel, levels[level], each); });
    for (Running& level : levels) finish(level, result.levels);
}

// The alternative, if there is one, at half of its highest rate.
void load_launches(Device const& device, LoadOptions const& options, std::uint32_t samples,
                   LoadResult& result) {
    constexpr std::uint64_t window = 64;
    std::uint32_t const each = samples / options.rounds;
    auto const launches = make_launch_target(device);
    if (!launches) return;
    result.launch_per_second = highest_rate(*launches, each, window);
    Running level = make_level("launch-50", 50, result.launch_per_second, window, samples);
    take_turns(options.rounds, 1, no_progress,
               [&](std::size_t /*turn*/) { run_level(*launches, level, each); });
    finish(level, result.levels);
}

}  // namespace

LoadResult run_load(Device const& device, LoadOptions const& options, Progress const& progress) {
    std::uint32_t const samples = options.samples.value_or(
        device.traits().shares_processors ? emulated_samples : gpu_samples);
    if (options.rounds == 0 || samples < options.rounds) {
        throw UsageError("load", "there must be at least one round, and one sample per round");
    }
    LoadResult result;
    load_channel(device, options, samples, progress, result);
    if (!interrupted()) load_launches(device, options, samples, result);
    return result;
}

}  // namespace carillon::tool

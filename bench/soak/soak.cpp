// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "soak/soak.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "soak/soak_driver.hpp"

namespace carillon::tool {
namespace {

[[nodiscard]] unsigned default_soak_channels(Device const& device) {
    if (!device.traits().shares_processors) return 8;  // answers leave as bulk copies
    return detail::cpu::available_processors() > 3 ? 2 : 1;
}

[[nodiscard]] double soak_rate(std::uint64_t count, SoakClock::duration elapsed) {
    return static_cast<double>(count) / std::chrono::duration<double>(elapsed).count();
}

template <unsigned lines>
void measure_highest(SoakDriver<lines>& driver, SoakOptions const& options, SoakResult& result) {
    auto const measured = soak_seconds(std::min(1.0, options.seconds / 2));
    auto const no_tick = [](SoakClock::duration /*elapsed*/) {};
    driver.run(0, measured / 10, no_tick);  // warms up
    std::uint64_t const before = driver.taken();
    auto const elapsed = driver.run(0, measured, no_tick);
    result.highest_per_second = soak_rate(driver.taken() - before, elapsed);
    driver.settle();
    if (!(result.highest_per_second > 0) && !interrupted())
        throw Error("highest rate", "the time is too short for a reply");
}

template <unsigned lines>
void soak_under_load(SoakDriver<lines>& driver, SoakOptions const& options,
                     Progress const& progress, SoakResult& result) {
    auto const duration = soak_seconds(options.seconds);
    auto const warm_after =
        std::min(std::max<SoakClock::duration>(duration / 10, soak_seconds(1)), duration / 2);
    bool warm = false;
    std::uint64_t const before = driver.taken();
    auto const elapsed =
        driver.run(result.highest_per_second * options.load_percent / 100, duration,
                   [&](SoakClock::duration so_far) {
                       progress(std::min(1.0, std::chrono::duration<double>(so_far) /
                                                  std::chrono::duration<double>(duration)));
                       if (warm || so_far < warm_after) return;
                       warm = true;
                       result.memory.warm = read_soak_usage();
                   });
    result.memory.end = read_soak_usage();
    if (!warm) result.memory.warm = result.memory.end;
    result.seconds = std::chrono::duration<double>(elapsed).count();
    result.achieved_per_second = soak_rate(driver.taken() - before, elapsed);
    progress(1);
    driver.settle();
}

// An error ends the step. Its text goes behind those before it.
template <class Step>
void try_soak_step(std::string& failure, Step&& step) {
    try {
        step();
    } catch (std::exception const& error) {
        std::string const what = error.what();
        if (failure.empty()) {
            failure = what;
        } else if (failure != what) {
            failure += "; " + what;
        }
    }
}

template <unsigned lines>
SoakResult soak_with(Device const& device, SoakOptions const& options, Progress const& progress) {
    SoakResult result;
    result.channels = options.channels.value_or(default_soak_channels(device));
    result.lines = lines;
    result.load_percent = options.load_percent;
    SoakDriver<lines> driver(device, options, result.channels);
    try_soak_step(result.failure, [&] {
        measure_highest(driver, options, result);
        soak_under_load(driver, options, progress, result);
        driver.drain();
    });
    try_soak_step(result.failure, [&] { driver.stop(); });
    result.counts = driver.finish();
    return result;
}

}  // namespace

SoakResult run_soak(Device const& device, SoakOptions const& options, Progress const& progress) {
    if (options.abandon_every == 0 || !(options.seconds > 0)) {
        throw UsageError("soak", "a time, and how often a reply is given up, are needed");
    }
    switch (options.lines) {
        case 1:
            return soak_with<1>(device, options, progress);
        case 2:
            return soak_with<2>(device, options, progress);
        case 16:
            return soak_with<16>(device, options, progress);
        default:
            throw UsageError("soak", "a message has 1, 2 or 16 lines");
    }
}

}  // namespace carillon::tool

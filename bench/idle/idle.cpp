// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "idle/idle.hpp"

#include <algorithm>
#include <carillon/carillon.hpp>
#include <chrono>

#include "kernels/rtt_kernels.hpp"
#include "measure/line_rig.hpp"
#include "measure/pauses.hpp"
#include "measure/turns.hpp"
#include "report/gpu_state.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

struct NamedPolicy {
    char const* name;
    IdlePolicy policy;
};
constexpr NamedPolicy idle_policies[] = {
    {"spin", IdlePolicy::spin()}, {"backoff", IdlePolicy::backoff()}, {"park", IdlePolicy::park()}};

// The mean of a few readings; the GPU averages over a part of a second itself.
std::optional<double> idle_power(Device const& device) {
    constexpr int readings = 3;
    double sum = 0;
    auto const pause = [](std::chrono::milliseconds time) {
        sleep_until(std::chrono::steady_clock::now() + time);
    };
    pause(device.info().pci_bus_id.empty() ? 0ms : 500ms);
    for (int i = 0; i < readings; ++i) {
        auto const watts = gpu_power(device.info().pci_bus_id);
        if (!watts) return {};
        sum += *watts;
        pause(200ms);
    }
    return sum / readings;
}

// Times `trip(i)`, i from `first`, `count` times, each after `pause_once()`; fewer times when an
// interrupt comes.
template <class PauseOnce, class Trip>
LatencySummary time_after(std::string name, std::uint32_t first, std::uint32_t count,
                          PauseOnce&& pause_once, Trip&& trip) {
    using Clock = std::chrono::steady_clock;
    Samples samples;
    for (std::uint32_t i = first; i != first + count; ++i) {
        pause_once();
        if (interrupted()) break;
        auto const start = Clock::now();
        trip(i);
        samples.push_back(static_cast<std::uint32_t>((Clock::now() - start).count()));
    }
    return summarize(std::move(name), samples);
}

constexpr std::uint32_t busy_share = 10;  // as many times as after a pause

void time_calls(IdleOptions const& options, Channel<Tick, Quote>& channel, IdleResult& result) {
    std::chrono::microseconds const pause(options.pause_us);
    Tick tick{4810.00, 4810.25, 0, 17, 0, 22, 28};
    auto const trip = [&](std::uint32_t i) {
        tick.order = i;
        if (channel.call(tick, 1s).order != i) {
            throw Error("idle", "a quote for another order came back");
        }
    };
    std::uint32_t const busy = busy_share * options.calls;
    auto const after = [&](Pause how) {
        return [&, how] { spend(how, pause, [&] { channel.warm(); }); };
    };
    (void)time_after(
        "warm-up", 0, options.calls, [] {}, trip);
    result.busy = time_after(
        "busy", 0, busy, [] {}, trip);
    result.woken = time_after("woken", 0, options.calls, after(Pause::sleep), trip);
    result.warm = time_after("warm", 0, options.calls, after(Pause::warm), trip);
}

IdleResult measure_policy(Device const& device, IdleOptions const& options, unsigned blocks,
                          NamedPolicy const& named) {
    KernelOptions kernel_options;
    kernel_options.blocks = blocks;
    kernel_options.idle = named.policy;
    PersistentKernel<Reprice> kernel(device, kernel_options);
    IdleResult result{named.name, named.policy, {}, {}, {}, {}};
    time_calls(options, kernel.channel(), result);
    result.power = idle_power(device);
    kernel.stop();
    return result;
}

IdleLine measure_line(Device const& device, IdleOptions const& options) {
    std::chrono::microseconds const pause(options.pause_us);
    std::uint32_t const calls = options.calls;
    std::uint32_t const busy = busy_share * calls;
    std::uint32_t next = 0;
    // A thread may sleep longer than it asks for.
    std::uint32_t const all = calls + busy + 2 * calls;
    LineRig rig(device, all, {}, 2 * (2 * calls * pause));
    std::uint32_t made = 0;
    auto const trip = [&](std::uint32_t i) {
        rig.trip(i);
        ++made;
    };
    auto const time = [&](char const* name, std::uint32_t count, auto&& pause_once) {
        next += count;
        return time_after(name, next - count, count, pause_once, trip);
    };
    auto const after = [&](Pause how) { return [=] { spend(how, pause, [] {}); }; };
    (void)time("warm-up", calls, [] {});
    IdleLine line;
    line.busy = time("busy", busy, [] {});
    line.woken = time("woken", calls, after(Pause::sleep));
    line.spun = time("spun", calls, after(Pause::spin));
    while (made < all) trip(made);  // after an interrupt: the kernel ends with the last one
    rig.await_end();
    return line;
}

}  // namespace

IdleReport run_idle(Device const& device, IdleOptions const& options, Progress const& progress) {
    IdleReport report;
    report.blocks = options.blocks != 0
                        ? options.blocks
                        : static_cast<unsigned>(std::max(device.info().sm_count.value_or(1), 1));
    report.power_without_kernel = idle_power(device);
    constexpr std::size_t policies = std::size(idle_policies);
    take_turns(1, policies + 1, progress, [&](std::size_t turn) {
        if (turn == policies) {
            report.line = measure_line(device, options);
            return;
        }
        IdleResult const result =
            measure_policy(device, options, report.blocks, idle_policies[turn]);
        if (result.busy.count != 0) report.policies.push_back(result);
    });
    return report;
}

}  // namespace carillon::tool

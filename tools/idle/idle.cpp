// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "idle/idle.hpp"

#include <algorithm>
#include <carillon/carillon.hpp>
#include <chrono>
#include <thread>

#include "kernels/rtt.hpp"
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
    std::this_thread::sleep_for(device.info().pci_bus_id.empty() ? 0ms : 500ms);
    for (int i = 0; i < readings; ++i) {
        auto const watts = gpu_power(device.info().pci_bus_id);
        if (!watts) return {};
        sum += *watts;
        std::this_thread::sleep_for(200ms);
    }
    return sum / readings;
}

LatencySummary time_calls_after(std::string name, Channel<Tick, Quote>& channel,
                                std::uint32_t count, std::chrono::microseconds pause) {
    std::vector<std::uint32_t> samples;
    Tick tick{4810.00, 4810.25, 0, 17, 0, 22, 28};
    for (std::uint32_t i = 0; i < count; ++i) {
        if (pause.count() != 0) std::this_thread::sleep_for(pause);
        tick.order = i;
        auto const start = std::chrono::steady_clock::now();
        if (channel.call(tick, 1s).order != i) {
            throw Error("idle", "a quote for another order came back");
        }
        samples.push_back(
            static_cast<std::uint32_t>((std::chrono::steady_clock::now() - start).count()));
    }
    return summarize(std::move(name), samples);
}

IdleResult measure_policy(Device const& device, IdleOptions const& options, unsigned blocks,
                          NamedPolicy const& named) {
    KernelOptions kernel_options;
    kernel_options.blocks = blocks;
    kernel_options.idle = named.policy;
    kernel_options.lifetime = 10min;
    PersistentKernel<Reprice> kernel(device, kernel_options);
    auto& channel = kernel.channel();
    IdleResult result{named.name, named.policy, {}, {}, {}};
    (void)time_calls_after("warm-up", channel, options.calls, 0us);
    result.busy = time_calls_after("busy", channel, 10 * options.calls, 0us);
    result.woken = time_calls_after("woken", channel, options.calls,
                                    std::chrono::microseconds(options.pause_us));
    result.power = idle_power(device);
    kernel.stop();
    return result;
}

}  // namespace

IdleReport run_idle(Device const& device, IdleOptions const& options, Progress const& progress) {
    IdleReport report;
    report.blocks = options.blocks != 0
                        ? options.blocks
                        : static_cast<unsigned>(std::max(device.info().sm_count.value_or(1), 1));
    report.power_without_kernel = idle_power(device);
    take_turns(1, std::size(idle_policies), progress, [&](std::size_t policy) {
        report.policies.push_back(
            measure_policy(device, options, report.blocks, idle_policies[policy]));
    });
    return report;
}

}  // namespace carillon::tool

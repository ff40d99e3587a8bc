// SPDX-License-Identifier: Apache-2.0
// Flags: one shows a kernel's progress, one stops it. Only the latest value of a flag counts.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

using StopIn = carillon::Flag<bool, carillon::Direction::to_device>;
using StepsOut = carillon::Flag<long, carillon::Direction::to_host>;

struct Work {
    StopIn::DeviceEnd stop;
    StepsOut::DeviceEnd steps_out;

    // One block of one thread. It ends when the CPU tells it to, or by itself after a minute.
    CARILLON_HD void operator()(unsigned /*block*/) {
        constexpr std::uint64_t longest_ns = 60'000'000'000;
        carillon::DeviceClock const clock;
        long steps = 0;
        std::uint64_t const began = clock.now_ns();
        while (clock.now_ns() - began < longest_ns && !stop.get()) {
            clock.idle(1);  // stands for a step of the work
            if (++steps % 64 == 0) steps_out.set(steps);
        }
        steps_out.set(steps);
    }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    StopIn stop(device);
    StepsOut steps(device);
    auto const kernel =
        carillon::launch(device, 1, Work{stop.device_handle(), steps.device_handle()});

    auto const until = std::chrono::steady_clock::now() + 5s;
    while (steps.get() < 1000 && std::chrono::steady_clock::now() < until) {
    }
    stop.set(true);
    bool const ended = kernel.wait(5s);
    std::printf("%s after %ld steps\n", ended ? "stopped" : "still running", steps.get());
    return ended && steps.get() >= 1000 ? 0 : 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "progress: %s\n", error.what());
    return 1;
}

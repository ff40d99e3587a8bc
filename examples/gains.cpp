// SPDX-License-Identifier: Apache-2.0
// Mailboxes: gains, a limit and a kill switch that change while a kernel runs, and its status back.
// Only the latest of each counts, and neither side ever waits for the other.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

struct Gains {
    double gain[16];
    double limit;
    bool stop;  // the kill switch
};
struct Status {
    long steps;
    double gain, output;
};

using GainsIn = carillon::Mailbox<Gains, carillon::Direction::to_device>;
using StatusOut = carillon::Mailbox<Status, carillon::Direction::to_host>;

struct Control {
    GainsIn::DeviceEnd gains_in;
    StatusOut::DeviceEnd status_out;

    // One block of one thread. It ends at the switch, or by itself when no gains have
    // come for a while.
    CARILLON_HD void operator()(unsigned /*block*/) {
        constexpr std::uint64_t patience_ns = 10'000'000'000;
        carillon::DeviceClock const clock;
        Gains gains{};
        gains.stop = !gains_in.refresh(gains);
        std::uint64_t heard = clock.now_ns();
        for (Status status{}; !gains.stop; clock.idle(1)) {
            double const wanted = 2 * gains.gain[0];
            status.gain = gains.gain[0];
            status.output = wanted < gains.limit ? wanted : gains.limit;
            bool const news = gains_in.refresh(gains);  // a look that costs one load
            if (++status.steps % 64 == 0 || news) status_out.set(status);
            if (news) heard = clock.now_ns();
            if (clock.now_ns() - heard > patience_ns) return;
        }
    }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    GainsIn gains(device, {.gain = {1}, .limit = 5, .stop = false});
    StatusOut status(device, {});
    auto const kernel =
        carillon::launch(device, 1, Control{gains.device_handle(), status.device_handle()});

    Status seen{};
    for (double gain = 1; gain <= 4; ++gain) {
        gains.set({.gain = {gain}, .limit = 5, .stop = false});
        auto const until = std::chrono::steady_clock::now() + 5s;
        while ((!status.refresh(seen) || seen.gain != gain) &&
               std::chrono::steady_clock::now() < until) {
        }
        std::printf("gain %.0f: output %.0f\n", seen.gain, seen.output);
    }
    gains.set({.gain = {}, .limit = 0, .stop = true});
    bool const stopped = kernel.wait(5s);
    std::printf("with gain %.0f, %s\n", seen.gain, stopped ? "stopped by the switch" : "running");
    return stopped ? 0 : 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "gains: %s\n", error.what());
    return 1;
}

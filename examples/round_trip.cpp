// SPDX-License-Identifier: Apache-2.0
// How long a call takes: the median, the 99th percentile and the longest of 20000 calls, measured
// with the public headers only. `carillon rtt` compares it with its alternatives.
#include <algorithm>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

struct Tick {
    double bid, ask;
};
struct Quote {
    double price;
};

struct Reprice {
    CARILLON_HD Quote operator()(Tick const& tick) const { return {(tick.bid + tick.ask) / 2}; }
};

int main() try {
    using namespace std::chrono_literals;
    using Clock = std::chrono::steady_clock;
    auto device = carillon::Device::open();
    carillon::PersistentKernel<Reprice> kernel(device);
    auto& channel = kernel.channel();
    Quote quote{};
    std::vector<double> micros(20'000);
    for (double& each : micros) {
        auto const begin = Clock::now();
        quote = channel.call(Tick{4810.00, 4810.25}, 1s);
        each = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    std::ranges::sort(micros);
    auto const at = [&](double share) {
        return micros[static_cast<std::size_t>(share * double(micros.size()))];
    };
    std::printf("%.3f; round trip of a call: p50 %.2f us, p99 %.2f us, longest %.2f us, from %s\n",
                quote.price, at(0.5), at(0.99), micros.back(), device.info().name.c_str());
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "round_trip: %s\n", error.what());
    return 1;
}

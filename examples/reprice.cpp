// SPDX-License-Identifier: Apache-2.0
// A handler, a persistent kernel, a call. Runs on the GPU if there is one.
#include <carillon/carillon.hpp>
#include <cstdio>

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
    auto device = carillon::Device::open();              // the first GPU, or the emulated device
    carillon::PersistentKernel<Reprice> kernel(device);  // allocates the rings and launches
    Quote const quote = kernel.channel().call(Tick{4810.00, 4810.25}, 100ms);
    std::printf("%.3f from %s\n", quote.price, device.info().name.c_str());
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "reprice: %s\n", error.what());
    return 1;
}

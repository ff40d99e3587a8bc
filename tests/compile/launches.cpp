// SPDX-License-Identifier: Apache-2.0
// A launch of each kind: of which kernels nvcc makes device code (launches_test.py).
#include <carillon/carillon.hpp>

struct Body {
    CARILLON_HD void operator()(unsigned /*block*/) const {}
};

struct Handler {
    CARILLON_HD int operator()(int const& value) const { return value; }
};

// Whether the source has the launch of a kind: CARILLON_KINDS has a bit for each.
#define HAS(kind) (((CARILLON_KINDS) >> (kind)) & 1)

static void use(carillon::Device const& device) {
    auto const own = carillon::launch(device, 1, Body{});
#if HAS(1)
    carillon::DeviceReader const reader(device);
#endif
#if HAS(2)
    auto const profile = carillon::tune(device);
#endif
#if HAS(3)
    carillon::ChannelMemory memory(device, 2, 64);
    auto const placed = carillon::place_channels(device, memory, 1, {});
#endif
#if HAS(4)
    carillon::PersistentKernel<Handler> const kernel(device);
#endif
#if HAS(5)
    carillon::PersistentKernel<Handler, carillon::WatchedChannels> const watching(device);
#endif
#if HAS(6)
    carillon::PersistentKernel<Handler, carillon::Pool> const pool(device);
#endif
#if HAS(7)
    carillon::DeviceWriter const writer(device);
#endif
}

int main() { use(carillon::Device::open()); }

// SPDX-License-Identifier: Apache-2.0
// One launch of each kind: of which kernels nvcc makes device code (launches_test.py).
#include <carillon/carillon.hpp>

struct Body {
    CARILLON_HD void operator()(unsigned /*block*/) const {}
};

struct Handler {
    CARILLON_HD int operator()(int const& value) const { return value; }
};

static void use(carillon::Device const& device) {
    auto const own = carillon::launch(device, 1, Body{});
#if CARILLON_CASE == 1
    carillon::DeviceReader const reader(device);
#elif CARILLON_CASE == 2
    auto const profile = carillon::tune(device);
#elif CARILLON_CASE == 3
    carillon::ChannelMemory memory(device, 2, 64);
    auto const placed = carillon::place_channels(device, memory, 1, {});
#elif CARILLON_CASE == 4
    carillon::PersistentKernel<Handler> const kernel(device);
#elif CARILLON_CASE == 5
    carillon::PersistentKernel<Handler, carillon::WatchedChannels> const kernel(device);
#elif CARILLON_CASE == 6
    carillon::PersistentKernel<Handler, carillon::Pool> const kernel(device);
#elif CARILLON_CASE == 7
    carillon::DeviceWriter const writer(device);
#endif
}

int main() { use(carillon::Device::open()); }

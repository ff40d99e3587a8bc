// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc once for each CARILLON_CASE: 0 is right, 1 is refused (CMakeLists.txt).
#include <carillon/carillon.hpp>

struct DeviceHandler {
    CARILLON_HD int operator()(int const& request) const { return 3 * request; }
};
struct HostHandler {
    int operator()(int const& request) const { return 3 * request; }
};

void use(carillon::Device const& device) {
#if CARILLON_CASE == 0
    carillon::PersistentKernel<DeviceHandler> const kernel(device);
    carillon::PersistentKernel<DeviceHandler, carillon::Pool> const pooled(device);
#else
    carillon::PersistentKernel<HostHandler> const kernel(device);
#endif
}

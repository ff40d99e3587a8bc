// SPDX-License-Identifier: Apache-2.0
// What nvcc takes without a word (CMakeLists.txt): a handler that is the host's and the device's.
#include <carillon/carillon.hpp>

struct Handler {
    CARILLON_HD int operator()(int const& request) const { return 3 * request; }
};

void use(carillon::Device const& device) {
    carillon::PersistentKernel<Handler> const kernel(device);
    carillon::PersistentKernel<Handler, carillon::Pool> const pooled(device);
}

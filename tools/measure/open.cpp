// SPDX-License-Identifier: Apache-2.0
#include "measure/open.hpp"

#include <cstdlib>

#include "build_info.hpp"

namespace carillon::tool {

namespace {

// Asks for the stack that the kernels of this program need: the library then does not tell the user
// that it reserves so much.
Device open_with_stack(std::string const& selector) {
    if (std::getenv("CARILLON_STACK_BYTES") != nullptr) return Device::open(selector);
    Device device = Device::open(selector, {.stack_bytes = 0});
    std::size_t const needed = device.stack().needed;
    return needed == 0 ? device : Device::open(selector, {.stack_bytes = needed});
}

}  // namespace

OpenedDevice open_usable(std::string const& selector) {
    Device device = open_with_stack(selector);
    if (have_device_code || !device.traits().cuda || selector != "best") return {device, {}};
    return {Device::open("emulated"), device.info().name};
}

}  // namespace carillon::tool

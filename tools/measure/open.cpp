// SPDX-License-Identifier: Apache-2.0
#include "measure/open.hpp"

#include "build_info.hpp"

namespace carillon::tool {

OpenedDevice open_usable(std::string const& selector) {
    Device device = Device::open(selector);
    if (have_device_code || !device.traits().cuda || selector != "best") return {device, {}};
    return {Device::open("emulated"), device.info().name};
}

}  // namespace carillon::tool

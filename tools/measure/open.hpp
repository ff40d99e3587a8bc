// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <carillon/device.hpp>
#include <string>

namespace carillon::tool {

struct OpenedDevice {
    Device device;
    std::string passed_over;  // the best device's name, if it is not used
};

// Opens the device; in a build without kernels for GPUs, the emulated one instead of the best.
[[nodiscard]] OpenedDevice open_usable(std::string const& selector);

}  // namespace carillon::tool

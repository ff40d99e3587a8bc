// SPDX-License-Identifier: Apache-2.0
// A Device's backend, for the library's own code.
#pragma once

#include <memory>
#include <utility>

#include "carillon/device.hpp"

namespace carillon::detail {

// Access to a Device for the library and its tests, not for users.
struct DeviceAccess {
    [[nodiscard]] static std::shared_ptr<Backend> const& backend(Device const& device) {
        return device.backend_;
    }
    [[nodiscard]] static Device device(std::shared_ptr<Backend> backend) {
        return Device(std::move(backend));
    }
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// Copies between a device's memory and the host's that do not go through the CPU's mapping.
#pragma once

#include <carillon/device.hpp>
#include <cstddef>
#include <memory>

namespace carillon::tool {

// When a call returns, the copy is complete.
class DriverCopies {
   public:
    DriverCopies() = default;
    virtual ~DriverCopies() = default;
    DriverCopies(DriverCopies const&) = delete;
    DriverCopies& operator=(DriverCopies const&) = delete;
    virtual void to_device(void* device_address, void const* from, std::size_t bytes) = 0;
    virtual void to_host(void* to, void const* device_address, std::size_t bytes) = 0;
};

// cudaMemcpyAsync and a wait for it. If the device's addresses are this process's, copies at those.
// Nothing in a build without nvcc for a GPU.
[[nodiscard]] std::unique_ptr<DriverCopies> open_driver_copies(Device const& device);

}  // namespace carillon::tool

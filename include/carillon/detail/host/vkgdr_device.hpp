// SPDX-License-Identifier: Apache-2.0
// The handle of vkgdr's calls, for C and Python.
#pragma once

#include "carillon/device.hpp"

namespace carillon::detail {

// A CUDA device and how its memory is wanted. A handle has no context: memory is of the context
// that is current when it is allocated. CUDA is asked in vkgdr's order, so that the same failures
// are told. An error whose cause is a loader's text is a DeviceNotFoundError.
class VkgdrDevice {
   public:
    // `device`: a CUdevice. Throws CudaError for one that is not there, DeviceNotFoundError.
    VkgdrDevice(int device, DeviceOptions const& options);
    // The device of the calling thread's context. Throws CudaError where it has none, too.
    static VkgdrDevice of_current_context(DeviceOptions const& options);

    // The device, opened in the calling thread's context. Throws CudaError where there is none,
    // UsageError for one of another device, what Device::open throws.
    [[nodiscard]] Device in_current_context() const;

   private:
    int device_;
    DeviceOptions options_;
};

}  // namespace carillon::detail

// SPDX-License-Identifier: Apache-2.0
// The handle of vkgdr's calls.
#pragma once

#include "carillon/device.hpp"

namespace carillon::compat {

// A CUDA device, and options of its memory. A handle has no context: memory belongs to the context
// that is current at its allocation. This class asks CUDA in vkgdr's order, so the same failures
// come first. A DeviceNotFoundError's cause is the loader's text, where a library is missing.
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

}  // namespace carillon::compat

// SPDX-License-Identifier: Apache-2.0
// GPUs. Built if cuda.h is found; otherwise no_cuda.cpp takes its place.
#pragma once

#include <memory>
#include <string_view>

#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// The number of GPUs that CUDA sees. Throws DeviceNotFoundError without a driver or a GPU.
[[nodiscard]] int cuda_device_count();
// The GPU with CUDA's ordinal, in the primary context. Throws DeviceNotFoundError,
// UnsupportedError, CudaError, VulkanError.
[[nodiscard]] std::shared_ptr<Backend> open_cuda(int ordinal, DeviceOptions const& options);
// The GPU with a UUID, "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
[[nodiscard]] std::shared_ptr<Backend> open_cuda_uuid(std::string_view uuid,
                                                      DeviceOptions const& options);
[[nodiscard]] std::shared_ptr<Backend> open_cuda_current(DeviceOptions const& options);

}  // namespace carillon::detail

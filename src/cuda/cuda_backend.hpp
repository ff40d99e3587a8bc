// SPDX-License-Identifier: Apache-2.0
// GPUs. Built where cuda.h is found; otherwise no_cuda.cpp takes its place.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// GPUs that CUDA sees. Throws DeviceNotFoundError when there is no driver or no GPU.
[[nodiscard]] int cuda_device_count();
// `ordinal` as CUDA counts, in the primary context. Throws DeviceNotFoundError, UnsupportedError,
// CudaError, VulkanError.
[[nodiscard]] std::shared_ptr<Backend> open_cuda(int ordinal, DeviceOptions const& options);
// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
[[nodiscard]] std::shared_ptr<Backend> open_cuda_uuid(std::string_view uuid,
                                                      DeviceOptions const& options);
[[nodiscard]] std::shared_ptr<Backend> open_cuda_current(DeviceOptions const& options);

}  // namespace carillon::detail

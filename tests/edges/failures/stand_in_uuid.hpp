// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace carillon::test {

// By which CUDA and Vulkan know each other's device.
inline constexpr char stand_in_uuid[17] = "carillonstand-in";

}  // namespace carillon::test

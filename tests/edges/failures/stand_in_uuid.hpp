// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace carillon::test {

// The UUID by which CUDA and Vulkan recognise each other's device.
inline constexpr char stand_in_uuid[17] = "carillonstand-in";

}  // namespace carillon::test

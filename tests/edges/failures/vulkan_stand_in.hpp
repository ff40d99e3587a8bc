// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace carillon::test {

// From now on this process has a Vulkan driver with one device.
void load_vulkan_stand_in();

}  // namespace carillon::test

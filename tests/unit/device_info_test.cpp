// SPDX-License-Identifier: Apache-2.0
// The description of a device in words.
#include "carillon/device_info.hpp"

#include <gtest/gtest.h>

namespace carillon::test {
namespace {

// Reports and their readers go by these words.
TEST(DeviceInfoTest, everySourceOfMemoryHasItsName) {
    EXPECT_EQ(to_string(MemorySource::unknown), "");
    EXPECT_EQ(to_string(MemorySource::vulkan), "vulkan");
    EXPECT_EQ(to_string(MemorySource::dma_buf), "dma-buf");
    EXPECT_EQ(to_string(MemorySource::gdrcopy), "gdrcopy");
    EXPECT_EQ(to_string(MemorySource::host), "host");
    EXPECT_EQ(to_string(MemorySource::memfd), "memfd");
}

TEST(DeviceInfoTest, everyOrderOfDataHasItsName) {
    EXPECT_EQ(to_string(DataOrder::fence), "fence");
    EXPECT_EQ(to_string(DataOrder::read_back), "read-back");
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_state.hpp"

#include <gtest/gtest.h>

namespace carillon::tool {
namespace {

TEST(GpuStateTest, whatTheDriverTellsIsNamed) {
    auto const state = parse_gpu_state("1980, 1980, 2619, 5, 16, 5, 16\n");
    EXPECT_EQ(state["gpu_clock_mhz"], 1980);
    EXPECT_EQ(state["memory_clock_mhz"], 2619);
    EXPECT_EQ(state["pcie_generation"], 5);
    EXPECT_EQ(state["pcie_width_max"], 16);
}

TEST(GpuStateTest, whatItDoesNotTellIsLeftOut) {
    EXPECT_TRUE(parse_gpu_state("").empty());
    EXPECT_TRUE(parse_gpu_state("No devices were found\n").empty());
    auto const state = parse_gpu_state("[N/A], 1980, , 5");
    EXPECT_EQ(state.size(), 2U);
    EXPECT_EQ(state["gpu_clock_max_mhz"], 1980);
    EXPECT_EQ(state["pcie_generation"], 5);
}

TEST(GpuStateTest, aBusIdThatIsNoneIsNotAsked) {
    EXPECT_TRUE(gpu_state("").empty());
    EXPECT_TRUE(gpu_state("0; echo 1").empty());
}

}  // namespace
}  // namespace carillon::tool

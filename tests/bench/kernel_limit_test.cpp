// SPDX-License-Identifier: Apache-2.0
// Kernels of the command's measures last at least as long as their measure, for any value of an
// option.
#include <gtest/gtest.h>

#include <chrono>

#include "measure/block_reports.hpp"
#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

[[nodiscard]] std::chrono::nanoseconds limit(std::uint64_t ns) {
    return std::chrono::nanoseconds(ns);
}

TEST(KernelLimitTest, kernelOfARoundOutlastsItsTripsAndPauses) {
    constexpr std::uint32_t most_trips = 100'000'000;
    EXPECT_GE(limit(kernel_limit_ns(most_trips)), most_trips * 100us);
    EXPECT_GE(limit(kernel_limit_ns(2, 24h)), 24h);
}

TEST(KernelLimitTest, kernelOfARateOutlastsItsRun) {
    RateKernel const kernel(Device::open("emulated"), {1, 1}, 24h);
    EXPECT_GT(limit(kernel.ledger().bound.ns), 24h);
}

}  // namespace
}  // namespace carillon::tool

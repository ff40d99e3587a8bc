// SPDX-License-Identifier: Apache-2.0
// "current": the library works in the caller's CUDA context and leaves it as it was.
#include "device/device_fixture.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda_runtime_api.h>
#endif

namespace carillon::test {
namespace {

struct Double {
    CARILLON_HD int operator()(int value) const { return 2 * value; }
};

class CurrentContextTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (!IsSkipped() && !on_gpu()) GTEST_SKIP() << "the emulated device has no CUDA context";
    }
};

#if CARILLON_DEVICE_CODE

TEST_P(CurrentContextTest, kernelRunsInTheContextOfTheCallingThread) {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);  // the runtime's context is current from now on
    Device const current = Device::open("current");
    EXPECT_EQ(current.info().uuid, device().info().uuid);
    EXPECT_FALSE(current.emulated());
    PersistentKernel<Double> kernel(current);
    EXPECT_EQ(kernel.channel().call(21, 5s), 42);
}

TEST_P(CurrentContextTest, callersContextIsStillCurrentAfterwards) {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    {
        PersistentKernel<Double> kernel(device());
        EXPECT_EQ(kernel.channel().call(4, 5s), 8);
    }
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

#else

TEST_P(CurrentContextTest, needsDeviceCode) { GTEST_SKIP() << "compiled without nvcc"; }

#endif

CARILLON_ON_EVERY_DEVICE(CurrentContextTest);

}  // namespace
}  // namespace carillon::test

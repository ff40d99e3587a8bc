// SPDX-License-Identifier: Apache-2.0
// "current": the library works in the caller's CUDA context and leaves it as it was.
#include "device/device_fixture.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <optional>
#include <thread>
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

// A context of the program's own.
class OwnContext {
   public:
    OwnContext() {
        CUdevice device = 0;
        EXPECT_EQ(call<decltype(&cuInit)>("cuInit")(0), CUDA_SUCCESS);
        EXPECT_EQ(call<decltype(&cuDeviceGet)>("cuDeviceGet")(&device, 0), CUDA_SUCCESS);
        using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
        EXPECT_EQ(call<Create>("cuCtxCreate_v2")(&context_, 0, device), CUDA_SUCCESS);
    }
    ~OwnContext() { destroy(); }
    OwnContext(OwnContext const&) = delete;
    OwnContext& operator=(OwnContext const&) = delete;

    void destroy() {
        if (context_ == nullptr) return;
        EXPECT_EQ(call<decltype(&cuCtxDestroy)>("cuCtxDestroy_v2")(context_), CUDA_SUCCESS);
        context_ = nullptr;
    }
    [[nodiscard]] bool is_current() const {
        CUcontext current = nullptr;
        EXPECT_EQ(call<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent")(&current), CUDA_SUCCESS);
        return current == context_;
    }

   private:
    template <class Function>
    static Function call(char const* name) {
        void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
        return reinterpret_cast<Function>(::dlsym(library, name));
    }

    CUcontext context_ = nullptr;
};

TEST_P(CurrentContextTest, contextOfTheProgramsOwnStaysCurrent) {
    OwnContext const own;
    for (char const* selector : {"cuda:0", "current"}) {
        Device const there = Device::open(selector);
        PersistentKernel<Double> kernel(there);
        EXPECT_EQ(kernel.channel().call(21, 5s), 42) << selector;
        EXPECT_TRUE(own.is_current()) << selector;
        kernel.stop(5s);
        EXPECT_TRUE(own.is_current()) << selector;
    }
}

TEST_P(CurrentContextTest, destroyedContextIsATypedErrorAndWhatWasInItGoes) {
    OwnContext own;
    Device const there = Device::open("current");
    Memory const memory = there.allocate(4096);
    Memory const host = there.allocate_host(4096);
    std::optional<PersistentKernel<Double>> kernel(there);
    EXPECT_EQ(kernel->channel().call(21, 5s), 42);
    kernel->stop(5s);
    own.destroy();
    CARILLON_EXPECT_ERROR(there.allocate(4096), CudaError, "has been destroyed or reset");
    CARILLON_EXPECT_ERROR(PersistentKernel<Double>{there}, CudaError,
                          "has been destroyed or reset");
    std::jthread([&] {
        CARILLON_EXPECT_ERROR(there.allocate_host(64), CudaError, "has been destroyed or reset");
    }).join();
    kernel.reset();
    PersistentKernel<Double> another(device());
    EXPECT_EQ(another.channel().call(4, 5s), 8);
}

// The CPU's words of a kernel, and of memory on the host, outlive the context.
TEST_P(CurrentContextTest, contextMayBeDestroyedBesideWhatLivesInIt) {
    OwnContext own;
    Device const there = Device::open("current");
    Memory const host = there.allocate_host(4096);
    PersistentKernel<Double> kernel(there, {.lifetime = 500ms});
    EXPECT_EQ(kernel.channel().call(21, 5s), 42);
    own.destroy();
    *static_cast<char*>(host.host_ptr()) = 1;
    EXPECT_THROW((void)kernel.channel().call(4, 5s), Error);
    EXPECT_TRUE(eventually([&] {
        try {
            (void)kernel.channel().try_submit(4);
        } catch (Error const&) {
            return true;
        }
        return false;
    }));
}

TEST_P(CurrentContextTest, noCurrentContextIsAUsageErrorForCurrentAlone) {
    std::jthread([&] {
        CARILLON_EXPECT_ERROR(Device::open("current"), UsageError, "no current CUDA context");
        PersistentKernel<Double> kernel(device());
        EXPECT_EQ(kernel.channel().call(4, 5s), 8);
    }).join();
}

#else

TEST_P(CurrentContextTest, needsDeviceCode) { GTEST_SKIP() << "compiled without nvcc"; }

#endif

CARILLON_ON_EVERY_DEVICE(CurrentContextTest);

}  // namespace
}  // namespace carillon::test

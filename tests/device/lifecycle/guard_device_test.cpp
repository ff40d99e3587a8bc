// SPDX-License-Identifier: Apache-2.0
// The guard reports the CUDA calls that hang behind a kernel, before they do, and no others.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device_fixture.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda_runtime_api.h>
#endif

namespace carillon::test {
namespace {

struct GuardedHandler {
    CARILLON_HD int operator()(int value) const { return 2 * value; }
};

class GuardTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        if (!on_gpu()) GTEST_SKIP() << "the emulated device makes no CUDA calls";
        try {
            guard_ = std::make_unique<Guard>([this](GuardReport const& report) { keep(report); });
        } catch (UnsupportedError const& error) {
            GTEST_SKIP() << error.what();
        }
    }

    // A kernel that ends by itself, so that a call behind it does not hang for ever.
    std::unique_ptr<PersistentKernel<GuardedHandler>> start() {
        auto kernel = std::make_unique<PersistentKernel<GuardedHandler>>(
            device(), KernelOptions{.lifetime = 20s});
        EXPECT_EQ(kernel->channel().call(4, patience), 8);
        return kernel;
    }

    Guard& guard() { return *guard_; }
    std::vector<GuardReport> reports() {
        std::lock_guard const lock(mutex_);
        return reports_;
    }

    // Makes a call behind a kernel; stops the kernel when the call has been reported.
    void expect_report(std::string const& name, std::function<void()> const& call) {
        auto const kernel = start();
        EXPECT_EQ(guard().reports(), 0U);
        std::thread caller([this, &call] {
            call();
            returned_ = true;
        });
        EXPECT_TRUE(eventually([this] { return returned_ || !reports().empty(); }));
        EXPECT_TRUE(kernel->running()) << "the report came from the end of the kernel";
        kernel->stop(patience);
        caller.join();
        std::vector<GuardReport> const all = reports();
        ASSERT_FALSE(all.empty()) << name;
        for (GuardReport const& report : all) {
            SCOPED_TRACE(report.call);
            EXPECT_NE(report.call.find(name), std::string::npos);
            EXPECT_FALSE(report.why.empty());
            EXPECT_FALSE(report.stack.empty());
        }
        EXPECT_FALSE(returned_at_report_) << "the call was reported when it was over";
    }

   private:
    void keep(GuardReport const& report) {
        std::lock_guard const lock(mutex_);
        reports_.push_back(report);
        if (returned_) returned_at_report_ = true;
    }

    std::mutex mutex_;
    std::vector<GuardReport> reports_;
    std::atomic<bool> returned_ = false;
    std::atomic<bool> returned_at_report_ = false;
    std::unique_ptr<Guard> guard_;  // the last, so that no report comes when the others are gone
};

#if CARILLON_DEVICE_CODE

__global__ void guard_probe_kernel(int* word) { *word = 7; }

void expect_success(cudaError_t result) { EXPECT_EQ(result, cudaSuccess); }

TEST_P(GuardTest, cudaFreeIsReportedBeforeItHangs) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 1U << 20), cudaSuccess);
    expect_report("cudaFree (cuMemFree", [&] { expect_success(cudaFree(memory)); });
}

TEST_P(GuardTest, cudaFreeHostIsReportedBeforeItHangs) {
    void* memory = nullptr;
    ASSERT_EQ(cudaHostAlloc(&memory, 1U << 20, cudaHostAllocDefault), cudaSuccess);
    expect_report("cudaFreeHost (cuMemFreeHost", [&] { expect_success(cudaFreeHost(memory)); });
}

TEST_P(GuardTest, cudaDeviceSynchronizeIsReportedBeforeItHangs) {
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    expect_report("cudaDeviceSynchronize (cuCtxSynchronize",
                  [&] { expect_success(cudaDeviceSynchronize()); });
}

TEST_P(GuardTest, copiesAndLaunchesOnAnOwnStreamAreNotReported) {
    int* word = nullptr;
    int* host = nullptr;
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaMalloc(&word, sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&host, sizeof(int), cudaHostAllocDefault), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    guard_probe_kernel<<<1, 1, 0, stream>>>(word);  // loads it
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    *host = 0;
    {
        auto const kernel = start();
        guard_probe_kernel<<<1, 1, 0, stream>>>(word);
        EXPECT_EQ(cudaMemcpyAsync(host, word, sizeof(int), cudaMemcpyDeviceToHost, stream),
                  cudaSuccess);
        EXPECT_TRUE(eventually([stream] { return cudaStreamQuery(stream) == cudaSuccess; }));
        EXPECT_EQ(*host, 7);
        EXPECT_EQ(cudaFree(nullptr), cudaSuccess);  // frees nothing
        EXPECT_TRUE(kernel->running());
        kernel->stop(patience);
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);  // no kernel lives any more
    EXPECT_EQ(cudaFree(word), cudaSuccess);
    for (GuardReport const& report : reports()) ADD_FAILURE() << report.call << report.kernel;
}

// The library itself frees memory and loads code while a kernel lives, and at the end of the last
// one.
TEST_P(GuardTest, libraryItselfIsNotReported) {
    std::vector<std::byte> bytes(1U << 20);
    auto const kernel = start();
    { Memory const memory = device().allocate(1U << 20); }
    { Memory const host = device().allocate_host(1U << 20); }
    { Memory const registered = device().register_host(bytes); }
    {
        auto const second = start();
        second->stop(patience);
    }
    kernel->stop(patience);
    for (GuardReport const& report : reports()) ADD_FAILURE() << report.call << report.kernel;
}

#if CUDART_VERSION >= 13000
// A user of NVRTC has this case: a module of its own, whose kernels are loaded when they are
// launched.
TEST_P(GuardTest, firstLaunchOfAKernelIsReportedUnderLazyLoading) {
    if (device().info().module_loading != "lazy") {
        GTEST_SKIP() << "modules are loaded eagerly here (CUDA_MODULE_LOADING=LAZY is not set)";
    }
    char const* const ptx =
        ".version 6.4\n.target sm_70\n.address_size 64\n"
        ".visible .entry guard_lazy_kernel() { ret; }\n";
    cudaLibrary_t library = nullptr;
    cudaKernel_t lazy = nullptr;
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&lazy, library, "guard_lazy_kernel"), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    auto const launch = [&] {
        expect_success(cudaLaunchKernel(reinterpret_cast<void const*>(lazy), dim3(1), dim3(1),
                                        nullptr, 0, stream));
    };
    expect_report("cudaLaunchKernel (cuLaunchKernel", launch);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    auto const kernel = start();
    auto const before = guard().reports();
    launch();  // it is loaded now
    EXPECT_EQ(guard().reports(), before);
    kernel->stop(patience);
}
#endif

#else

TEST_P(GuardTest, needsDeviceCode) { GTEST_SKIP() << "compiled without nvcc"; }

#endif

CARILLON_ON_EVERY_DEVICE(GuardTest);

}  // namespace
}  // namespace carillon::test

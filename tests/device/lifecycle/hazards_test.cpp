// SPDX-License-Identifier: Apache-2.0
// Calls that may hang beside a kernel that never stops: docs/dev/hazards.md lists them. Every
// kernel here ends by itself, so that a call that waits for it fails its test instead of hanging
// it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/captured_stderr.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#endif

namespace carillon::test {
using namespace detail;

struct Sevenfold {
    CARILLON_HD int operator()(int value) const { return 7 * value; }
};

// Stands for a kernel that the device has no room for: no block of it says that it runs.
struct SilentBody {
    std::uint64_t const* gate;
    CARILLON_HD void operator()(unsigned /*block*/) const { wait_at(gate, 1); }
};

namespace {

// Placed anywhere: a probe would be one more kernel.
KernelOptions const mortal{.lifetime = 20s, .channels = {.placement = Placement::off}};

// Destroyed when drivers have ended already: it was there before they were loaded.
std::unique_ptr<PersistentKernel<Sevenfold>> in_static_storage;

// Runs in a process of its own, and exits while the kernel runs. A process that waited for the
// kernel would wait longer than a test may take.
[[noreturn]] void exit_beside_a_kernel(Device const& device, bool destroyed) {
    KernelOptions options = mortal;
    options.lifetime = 5min;
    options.host_limit = 0ns;
    in_static_storage = std::make_unique<PersistentKernel<Sevenfold>>(device, options);
    bool const right = in_static_storage->channel().call(6, patience) == 42;
    if (!destroyed) {
        // Keeps the kernel reachable for the leak checker.
        [[maybe_unused]] static PersistentKernel<Sevenfold>* volatile kept = nullptr;
        kept = in_static_storage.release();
    }
    std::exit(right ? 7 : 1);
}

class HazardTest : public KernelTest {
   protected:
    // A kernel that something waited for has ended, and answers no more.
    static void expect_answer(PersistentKernel<Sevenfold>& kernel) {
        EXPECT_EQ(kernel.channel().call(6, patience), 42);
    }
};
CARILLON_ON_EVERY_DEVICE(HazardTest);

TEST_P(HazardTest, kernelWhoseBlocksDoNotStartIsATimeoutError) {
    Gate gate(device());
    KernelOptions options = mortal;
    options.start_timeout = 200ms;  // of which the launch takes some
    auto const host = detail::KernelSupervisor::make(
        device(), std::make_shared<ChannelMemory>(device(), 1, 4), options);
    LaunchShape const shape{.start_timeout = options.start_timeout};
    CARILLON_EXPECT_ERROR(host->run(launch(device(), shape, SilentBody{gate.device_view()})),
                          TimeoutError, "not every block had started within start_timeout");
    gate.open(1);
    host->stop(patience);
    EXPECT_EQ(host->state(), KernelState::stopped);
}

// Catches streams that share a hardware queue and wait for each other in it: a GPU has 8 by
// default.
TEST_P(HazardTest, moreKernelsThanHardwareQueuesLiveSideBySide) {
    std::vector<PersistentKernel<Sevenfold>> kernels;
    for (int i = 0; i < 12; ++i) kernels.emplace_back(device(), mortal);
    for (auto& kernel : kernels) expect_answer(kernel);
}

// Catches a caller that waits for its own deadline although no kernel is left to answer.
TEST_P(HazardTest, requestThatIsOutstandingWhenTheKernelEndsIsAStoppedError) {
    Gate gate(device());
    KernelOptions options = mortal;
    options.lifetime = 50ms;
    PersistentKernel<GatedHandler> kernel(device(), options, GatedHandler{gate.device_view()});
    (void)kernel.channel().submit({1, 1}, patience);
    Ticket const second = kernel.channel().submit({2, 0}, patience);
    std::this_thread::sleep_for(100ms);
    gate.open(1);  // the block looks at the time before it takes the second
    CARILLON_EXPECT_ERROR(kernel.channel().wait(second, patience), StoppedError,
                          "Client::wait: the kernel has ended: its lifetime is over");
}

// Catches a CUDA context that only the starting thread has.
TEST_P(HazardTest, kernelOutlivesTheThreadThatStartedIt) {
    std::unique_ptr<PersistentKernel<Sevenfold>> kernel;
    std::thread([&] {
        kernel = std::make_unique<PersistentKernel<Sevenfold>>(device(), mortal);
    }).join();
    expect_answer(*kernel);
    kernel->stop(patience);
    EXPECT_FALSE(kernel->running());
}

// Catches blocks, or a heartbeat thread, that the end of a process waits for.
TEST_P(HazardTest, processThatExitsBesideAKernelEnds) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_beside_a_kernel(device(), false), testing::ExitedWithCode(7), "");
}

// Catches an end of the kernel that uses memory which its driver has taken away.
TEST_P(HazardTest, kernelInStaticStorageIsDestroyedAfterItsDriver) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_beside_a_kernel(device(), true), testing::ExitedWithCode(7), "");
}

// Catches hooks that stand only before the drivers that were there at the first of them.
TEST_P(HazardTest, driverMayBeLoadedAfterTheFirstKernel) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto const exit_beside_two = [] {
        static auto* const first =
            std::make_unique<PersistentKernel<Sevenfold>>(Device::open("emulated"), mortal)
                .release();
        if (first->channel().call(6, patience) != 42) std::exit(1);
        exit_beside_a_kernel(Device::open(GetParam()), true);
    };
    EXPECT_EXIT(exit_beside_two(), testing::ExitedWithCode(7), "");
}

// Runs when every driver has ended.
void make_a_kernel_late() {
    testing::internal::CaptureStderr();
    {
        PersistentKernel<Sevenfold> late(Device::open("emulated"), mortal);
        if (late.channel().call(6, patience) != 42) std::_Exit(1);
    }
    std::_Exit(captured_stderr().empty() ? 7 : 2);
}

// Catches an end of a kernel that relies on hooks which have already run.
TEST_P(HazardTest, kernelThatIsMadeAfterTheHooksIsStopped) {
    if (on_gpu()) GTEST_SKIP() << "its driver has ended by then";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto const exit_before_the_late = [this] {
        (void)std::atexit(make_a_kernel_late);  // runs after the hooks, which come later
        exit_beside_a_kernel(device(), true);
    };
    EXPECT_EXIT(exit_before_the_late(), testing::ExitedWithCode(7), "");
}

// Catches an opening that takes memory to see whether it can be had, and frees it at once.
TEST_P(HazardTest, deviceMayBeOpenedAndListedBesideAKernel) {
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    Device const again = Device::open(GetParam());
    EXPECT_EQ(again.info().memory_source, device().info().memory_source);
    EXPECT_FALSE(Device::list().empty());
    (void)again.allocate(4096);
    expect_answer(kernel);
}

}  // namespace

#if CARILLON_DEVICE_CODE

// Leaves its block at 7, without an answer.
struct LeavesAtSeven {
    CARILLON_HD int operator()(int value) const {
#if defined(__CUDA_ARCH__)
        if (value == 7) asm volatile("exit;");
#endif
        return value;
    }
};

// One kernel for each number, so that each has its first launch.
template <int number>
__global__ void add(int* word) {
    *word += number;
}

__global__ void hold(std::uint64_t const* gate, std::uint64_t* entered) {
    DeviceFar().store_word(entered + blockIdx.x, 1);
    wait_at(gate, 1);
}

namespace {

// Polls: nothing here waits inside of CUDA while a kernel lives, unless the test is about that.
bool finishes(cudaStream_t stream) {
    cudaError_t result = cudaErrorNotReady;
    bool const in_time =
        eventually([&] { return (result = cudaStreamQuery(stream)) != cudaErrorNotReady; });
    return in_time && result == cudaSuccess;
}

// A program's own stream and memory, made before its kernel and freed after it.
class OwnWork {
   public:
    OwnWork() {
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaMalloc(&word_, sizeof(int)), cudaSuccess);
        EXPECT_EQ(cudaMallocHost(&seen_, sizeof(int)), cudaSuccess);
        EXPECT_EQ(cudaMemset(word_, 0, sizeof(int)), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    ~OwnWork() {
        (void)cudaFreeHost(seen_);
        (void)cudaFree(word_);
        (void)cudaStreamDestroy(stream_);
    }
    OwnWork(OwnWork const&) = delete;
    OwnWork& operator=(OwnWork const&) = delete;

    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    [[nodiscard]] int* word() const { return word_; }
    // The word, read by a copy on the stream; -1 if the copy did not finish.
    [[nodiscard]] int read() const {
        bool const copied = cudaMemcpyAsync(seen_, word_, sizeof(int), cudaMemcpyDeviceToHost,
                                            stream_) == cudaSuccess;
        return copied && finishes(stream_) ? *seen_ : -1;
    }
    void free_word() {
        EXPECT_EQ(cudaFree(word_), cudaSuccess);
        word_ = nullptr;
    }

   private:
    cudaStream_t stream_ = nullptr;
    int* word_ = nullptr;
    int* seen_ = nullptr;
};

// Runs in a process of its own: exits with 0 if a kernel was launched and finished beside the
// persistent one.
[[noreturn]] void launch_under_lazy_loading(Device const& device) {
    if (device.info().module_loading != "lazy") std::_Exit(2);
    OwnWork const work;
    PersistentKernel<Sevenfold> kernel(device, mortal);
    add<1><<<1, 1, 0, work.stream()>>>(work.word());
    bool const added = work.read() == 1;
    std::_Exit(added && kernel.running() ? 0 : 1);
}

// Runs in a process of its own: exits with 0 if the caller got the error that the kernel has ended.
[[noreturn]] void call_under_blocking_launches(Device const& device) {
    try {
        PersistentKernel<Sevenfold> kernel(device, mortal);
        (void)kernel.channel().call(6, patience);
    } catch (Error const& error) {
        std::fputs(error.what(), stderr);
        std::_Exit(0);
    }
    std::_Exit(1);
}

class GpuHazardTest : public HazardTest {
   protected:
    void SetUp() override {
        HazardTest::SetUp();
        if (!IsSkipped() && !on_gpu()) GTEST_SKIP() << "the emulated device has no CUDA context";
    }
    static bool known_to_cuda(void const* address) {
        cudaPointerAttributes attributes{};
        return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
               attributes.type != cudaMemoryTypeUnregistered;
    }
};

TEST_P(GpuHazardTest, kernelThatWasNeverLaunchedBeforeStarts) {
    OwnWork const work;
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    add<2><<<1, 1, 0, work.stream()>>>(work.word());
    EXPECT_EQ(work.read(), 2);
    expect_answer(kernel);
}

// Catches a module of which only the persistent kernel is loaded before it starts.
TEST_P(GpuHazardTest, lazyLoadingDoesNotHoldAKernelOfTheSameModuleUp) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    EXPECT_EXIT(launch_under_lazy_loading(device()), testing::ExitedWithCode(0), "");
    ::unsetenv("CUDA_MODULE_LOADING");
}

// The launch returns when the kernel has seen no heartbeat of its host for host_limit.
TEST_P(GpuHazardTest, blockingLaunchIsAnErrorInsteadOfAHang) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    EXPECT_EXIT(call_under_blocking_launches(device()), testing::ExitedWithCode(0),
                "the launch waited for the kernel: unset CUDA_LAUNCH_BLOCKING");
    ::unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_P(GpuHazardTest, legacyDefaultStreamDoesNotWaitForTheKernel) {
    OwnWork const work;
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    int seen = 0;
    EXPECT_EQ(cudaMemset(work.word(), 0, sizeof(int)), cudaSuccess);
    add<3><<<1, 1>>>(work.word());
    EXPECT_TRUE(finishes(cudaStreamLegacy));
    EXPECT_EQ(cudaMemcpy(&seen, work.word(), sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(seen, 3);
    expect_answer(kernel);
}

TEST_P(GpuHazardTest, copyOfAnotherThreadOnItsOwnStreamFinishes) {
    OwnWork const work;
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    auto seen = std::async(std::launch::async, [&] { return work.read(); });
    EXPECT_EQ(seen.get(), 0);
    expect_answer(kernel);
}

// More streams than a GPU can have hardware queues: some share the kernel's.
TEST_P(GpuHazardTest, workOnAnyStreamFinishes) {
    std::vector<OwnWork> const works(40);
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    for (OwnWork const& work : works) add<4><<<1, 1, 0, work.stream()>>>(work.word());
    for (OwnWork const& work : works) EXPECT_EQ(work.read(), 4);
    expect_answer(kernel);
}

TEST_P(GpuHazardTest, memoryThatIsLetGoIsFreedOnceTheKernelHasEnded) {
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    std::optional<Memory> near = device().allocate(1U << 20);
    std::optional<Memory> far = device().allocate_host(1U << 20);
    std::vector<std::byte> bytes(1U << 20);
    std::optional<Memory> own = device().register_host(bytes);
    void const* const addresses[] = {near->device_ptr(), far->host_ptr(), own->host_ptr()};
    near.reset();
    far.reset();
    own.reset();
    for (void const* address : addresses) EXPECT_TRUE(known_to_cuda(address));
    expect_answer(kernel);
    kernel.stop(patience);
    { Memory const next = device().allocate_host(64); }  // with which the others go
    for (void const* address : addresses) EXPECT_FALSE(known_to_cuda(address));
}

// CUDA may wait for every kernel here, and Carillon cannot see it: the lifetime bounds that.
TEST_P(GpuHazardTest, freeOfTheProgramsOwnMemoryComesBack) {
    OwnWork work;
    KernelOptions options = mortal;
    options.lifetime = 500ms;
    PersistentKernel<Sevenfold> const kernel(device(), options);
    work.free_word();
    EXPECT_TRUE(eventually([&] { return !kernel.running(); }));
}

// Loads a module as a program does that compiles code at run time: CUDA may wait for every kernel
// here too.
TEST_P(GpuHazardTest, moduleThatIsLoadedMeanwhileIsThereInTheEnd) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver, nullptr);
    auto* const load =
        reinterpret_cast<decltype(&cuModuleLoadData)>(::dlsym(driver, "cuModuleLoadData"));
    ASSERT_NE(load, nullptr);
    OwnWork const work;  // makes the context current
    KernelOptions options = mortal;
    options.lifetime = 500ms;
    PersistentKernel<Sevenfold> const kernel(device(), options);
    CUmodule module = nullptr;
    EXPECT_EQ(load(&module,
                   ".version 6.4\n.target sm_70\n.address_size 64\n"
                   ".visible .entry hazard_late_kernel() { ret; }\n"),
              CUDA_SUCCESS);
    EXPECT_TRUE(eventually([&] { return !kernel.running(); }));
}

TEST_P(GpuHazardTest, synchronizingTheDeviceLastsAsLongAsTheLifetime) {
    KernelOptions options = mortal;
    options.lifetime = 500ms;
    PersistentKernel<Sevenfold> kernel(device(), options);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_FALSE(kernel.running());
    CARILLON_EXPECT_ERROR(kernel.channel().call(6, patience), StoppedError,
                          "the kernel has ended: its lifetime is over");
}

// Catches a look at the kernel that breaks the capture, or an error that is taken for its end.
TEST_P(GpuHazardTest, graphMayBeCapturedMeanwhile) {
    OwnWork const work;
    PersistentKernel<Sevenfold> kernel(device(), mortal);
    ASSERT_EQ(cudaStreamBeginCapture(work.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
    auto looked = std::async(std::launch::async, [&] { return kernel.state(); });
    EXPECT_EQ(looked.get(), KernelState::running);
    EXPECT_EQ(kernel.state(), KernelState::running);
    add<5><<<1, 1, 0, work.stream()>>>(work.word());
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(work.stream(), &graph), cudaSuccess);
    if (graph != nullptr) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    expect_answer(kernel);
}

// Catches a free that breaks the capture, or that the capture forbids.
TEST_P(GpuHazardTest, memoryMayBeLetGoWhileAGraphIsCaptured) {
    OwnWork const work;
    Memory memory = device().allocate(4096);
    Memory host_memory = device().allocate_host(4096);
    ASSERT_EQ(cudaStreamBeginCapture(work.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
    memory = Memory();
    host_memory = Memory();
    add<5><<<1, 1, 0, work.stream()>>>(work.word());
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(work.stream(), &graph), cudaSuccess);
    if (graph != nullptr) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// Blocks that Carillon does not count: those of the program's other kernels.
TEST_P(GpuHazardTest, kernelThatFindsNoRoomSaysSo) {
    Gate gate(device());
    OwnWork const work;
    int each = 0;
    ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, hold, 1, 0), cudaSuccess);
    auto const blocks = static_cast<unsigned>(each * *device().info().sm_count);
    Memory const entered = device().allocate_host(blocks * sizeof(std::uint64_t));
    hold<<<blocks, 1, 0, work.stream()>>>(gate.device_view(),
                                          static_cast<std::uint64_t*>(entered.device_ptr()));
    auto const* const words = static_cast<std::uint64_t const*>(entered.host_ptr());
    ASSERT_TRUE(eventually([&] {
        return std::all_of(words, words + blocks,
                           [](auto const& word) { return HostCached().load_word(&word) == 1; });
    }));
    KernelOptions options = mortal;
    options.start_timeout = 200ms;
    options.stop_timeout = 100ms;
    CARILLON_EXPECT_ERROR(PersistentKernel<Sevenfold>(device(), options), TimeoutError,
                          "not every block had started within start_timeout");
    gate.open(1);  // and the kernel that was left behind starts, sees that it is to stop, and ends
    EXPECT_TRUE(finishes(work.stream()));
}

TEST_P(GpuHazardTest, handlerThatLeavesTheOnlyBlockIsAStoppedError) {
    PersistentKernel<LeavesAtSeven> kernel(device(), mortal);
    EXPECT_EQ(kernel.channel().call(6, patience), 6);
    CARILLON_EXPECT_ERROR(kernel.channel().call(7, patience), StoppedError,
                          "Client::call: the kernel has ended");
}

TEST_P(GpuHazardTest, handlerThatLeavesOneOfTwoBlocksLeavesItStuck) {
    KernelOptions options = mortal;
    options.blocks = 2;
    options.stuck_after = 200ms;
    PersistentKernel<LeavesAtSeven> kernel(device(), options);
    EXPECT_THROW((void)kernel.channel(0).call(7, 100ms), TimeoutError);
    EXPECT_TRUE(eventually([&] { return kernel.activity(0) == BlockActivity::stuck; }));
    EXPECT_EQ(kernel.channel(1).call(5, patience), 5);
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
}

#else

namespace {

class GpuHazardTest : public KernelTest {};

TEST_P(GpuHazardTest, needsDeviceCode) { GTEST_SKIP() << "compiled without nvcc"; }

#endif

CARILLON_ON_EVERY_DEVICE(GpuHazardTest);

}  // namespace
}  // namespace carillon::test

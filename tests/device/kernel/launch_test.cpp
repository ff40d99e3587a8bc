// SPDX-License-Identifier: Apache-2.0
// A kernel of the user's own, without a ring.
#include "carillon/block.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {
using namespace detail;

struct NumberBody {
    std::uint64_t* numbers;

    CARILLON_HD void operator()(unsigned block) {
        DeviceFar const far;
        far.store_word(numbers + block, block + 100);
        numbers = nullptr;  // each block has a copy of its own
    }
};

// Every thread reports how many threads its block has.
struct ThreadsBody {
    std::uint64_t* numbers;
    unsigned per_block;

    CARILLON_HD void operator()(unsigned block) const {
        DeviceFar const far;
        far.store_word(numbers + block * per_block + block::thread_rank(), block::size());
    }
};

struct GateBody {
    std::uint64_t const* gate;

    CARILLON_HD void operator()(unsigned /*block*/) const { wait_at(gate, 1); }
};

namespace {

class LaunchTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LaunchTest);

TEST_P(LaunchTest, everyBlockRunsOnceUnderItsOwnNumber) {
    constexpr unsigned blocks = 8;
    Memory const out = device().allocate_host(2 * blocks * 8);
    auto* const numbers = static_cast<std::uint64_t*>(out.host_ptr());
    auto const kernel =
        launch(device(), blocks, NumberBody{static_cast<std::uint64_t*>(out.device_ptr())});
    ASSERT_TRUE(kernel.wait(patience));
    for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(numbers[i], i + 100);
    for (unsigned i = blocks; i < 2 * blocks; ++i) EXPECT_EQ(numbers[i], 0U);
}

TEST_P(LaunchTest, kernelIsFinishedWhenEveryBlockHasReturned) {
    Gate gate(device());
    auto const kernel = launch(device(), 2, GateBody{gate.device_view()});
    EXPECT_FALSE(kernel.finished());
    EXPECT_FALSE(kernel.wait(1ms));
    EXPECT_FALSE(kernel.wait(-1s));
    gate.open(1);
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_TRUE(kernel.finished());
    EXPECT_TRUE(kernel.wait(0ns));
}

TEST_P(LaunchTest, kernelThatWasNeverStartedIsFinished) {
    RunningKernel const none;
    EXPECT_TRUE(none.finished());
    EXPECT_TRUE(none.wait(0ns));
}

TEST_P(LaunchTest, kernelIsMovedWhileItRuns) {
    Gate gate(device());
    auto first = launch(device(), 1, GateBody{gate.device_view()});
    RunningKernel second;
    second = std::move(first);
    EXPECT_FALSE(second.finished());
    EXPECT_TRUE(first.finished());  // NOLINT(bugprone-use-after-move): what a move leaves
    gate.open(1);
    EXPECT_TRUE(second.wait(patience));
}

TEST_P(LaunchTest, noBlocksIsAUsageError) {
    Gate gate(device());
    CARILLON_EXPECT_ERROR(launch(device(), 0, GateBody{gate.device_view()}), UsageError,
                          "at least one block");
    gate.open(1);
    EXPECT_TRUE(launch(device(), 1, GateBody{gate.device_view()}).wait(patience));
}

TEST_P(LaunchTest, everyThreadOfABlockRuns) {
    constexpr LaunchShape shape{.blocks = 2, .threads = 64};
    Memory const out = device().allocate_host(shape.blocks * shape.threads * 8);
    auto* const numbers = static_cast<std::uint64_t*>(out.host_ptr());
    auto const kernel = launch(
        device(), shape, ThreadsBody{static_cast<std::uint64_t*>(out.device_ptr()), shape.threads});
    ASSERT_TRUE(kernel.wait(patience));
    for (unsigned i = 0; i < shape.blocks * shape.threads; ++i) {
        // One thread stands for a block of the emulated device.
        std::uint64_t const first = i % shape.threads == 0 ? 1 : 0;
        EXPECT_EQ(numbers[i], device().traits().one_thread_a_block ? first : shape.threads) << i;
    }
}

TEST_P(LaunchTest, blockOfNoOrTooManyThreadsIsAUsageError) {
    for (unsigned threads : {0U, 1025U}) {
        CARILLON_EXPECT_ERROR(launch(device(), 1, ThreadsBody{nullptr, 1}, threads), UsageError,
                              "launch: a block has 1 to 1024 threads");
    }
}

// Catches a launch that waits for the kernel before it, as a shared or blocking stream would.
TEST_P(LaunchTest, twoKernelsRunAtTheSameTime) {
    Gate gate(device());
    Memory const out = device().allocate_host(64);
    auto const waiting = launch(device(), 1, GateBody{gate.device_view()});
    auto const other =
        launch(device(), 1, NumberBody{static_cast<std::uint64_t*>(out.device_ptr())});
    EXPECT_TRUE(other.wait(patience));
    EXPECT_FALSE(waiting.finished());
    gate.open(1);
    EXPECT_TRUE(waiting.wait(patience));
}

// A kernel whose owner is gone goes on, and keeps the memory that it may still touch.
TEST_P(LaunchTest, kernelMayOutliveItsOwner) {
    auto gate = std::make_unique<Gate>(device());
    testing::internal::CaptureStderr();
    { auto const kernel = launch(device(), 1, GateBody{gate->device_view()}); }
    EXPECT_NE(captured_stderr().find("still running"), std::string::npos);
    gate.reset();  // opens it; the memory is kept until the kernel has ended
    Memory const out = device().allocate_host(64);
    EXPECT_TRUE(launch(device(), 1, NumberBody{static_cast<std::uint64_t*>(out.device_ptr())})
                    .wait(patience));
}

}  // namespace
}  // namespace carillon::test

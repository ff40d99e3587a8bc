// SPDX-License-Identifier: Apache-2.0
// How a persistent kernel ends, and in which state its end leaves everything.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "carillon/device.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/captured_stderr.hpp"
#include "support/mapped_file.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Kernel = PersistentKernel<GatedHandler>;

class KernelLifetimeTest : public KernelTest {
   protected:
    static void expect_answer(Kernel& kernel, std::uint64_t value) {
        EXPECT_EQ(kernel.channel().call({value, 0}, patience).value, 3 * value + 1);
    }
};
CARILLON_ON_EVERY_DEVICE(KernelLifetimeTest);

TEST_P(KernelLifetimeTest, stopEndsTheKernelAndEveryLaterCallIsRefused) {
    Kernel kernel(device(), {.blocks = 2});
    expect_answer(kernel, 1);
    EXPECT_TRUE(kernel.running());
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
    for (unsigned block = 0; block < 2; ++block) {
        EXPECT_THROW((void)kernel.channel(block).call({1, 0}, 1s), StoppedError);
        EXPECT_THROW((void)kernel.channel(block).submit({1, 0}, 1s), StoppedError);
        EXPECT_THROW((void)kernel.channel(block).try_submit({1, 0}), StoppedError);
    }
}

TEST_P(KernelLifetimeTest, replyThatWasOutstandingAtTheStopIsRefusedOrGiven) {
    Gate gate(device());
    Kernel kernel(device(), {}, GatedHandler{gate.device_view()});
    Ticket const taken = kernel.channel().submit({1, 1}, patience);
    try {
        kernel.stop(0ns);
    } catch (TimeoutError const&) {  // the handler is waiting at the gate already
    }
    gate.open(1);
    kernel.stop(patience);
    try {
        EXPECT_EQ(kernel.channel().wait(taken, patience).value, 4U);
    } catch (StoppedError const& error) {
        EXPECT_EQ(error.call(), "Client::wait");
    }
}

TEST_P(KernelLifetimeTest, stopMayBeCalledTwice) {
    Kernel kernel(device());
    kernel.stop(patience);
    EXPECT_NO_THROW(kernel.stop(patience));
    EXPECT_NO_THROW(kernel.stop(0ns));
    EXPECT_FALSE(kernel.running());
}

TEST_P(KernelLifetimeTest, destructorStopsAKernelWithRequestsOutstanding) {
    for (int round = 0; round < 5; ++round) {
        Kernel kernel(device(), {.blocks = 2, .capacity = 4});
        for (unsigned block = 0; block < 2; ++block) {
            for (int i = 0; i < 4; ++i) (void)kernel.channel(block).submit({1, 0}, patience);
        }
    }
    Kernel kernel(device());
    expect_answer(kernel, 2);
}

// Returns what a kernel's destructor prints on stderr while the kernel stays busy for `busy`.
std::string said_at_the_end(Device const& device, std::chrono::nanoseconds stop_timeout,
                            std::chrono::nanoseconds busy) {
    Gate gate(device);
    Memory const word = device.allocate_host(64);
    auto const* const entered = static_cast<std::uint64_t const*>(word.host_ptr());
    std::jthread opener;
    testing::internal::CaptureStderr();
    {
        Kernel kernel(
            device, {.stop_timeout = stop_timeout},
            GatedHandler{gate.device_view(), static_cast<std::uint64_t*>(word.device_ptr())});
        (void)kernel.channel().submit({1, 1}, patience);
        EXPECT_TRUE(eventually([&] { return HostCached().load_word(entered) == 1; }));
        opener = std::jthread([&] {
            std::this_thread::sleep_for(busy);
            gate.open(1);
        });
    }
    return captured_stderr();
}

// Catches a wait that begins anew behind the one for stop_timeout: the kernel ends during it.
TEST_P(KernelLifetimeTest, destructorWaitsNoLongerThanStopTimeout) {
    EXPECT_NE(said_at_the_end(device(), 20ms, 900ms).find("still running"), std::string::npos);
    EXPECT_EQ(said_at_the_end(device(), patience, 100ms), "");
}

TEST_P(KernelLifetimeTest, destructorThatDoesNotWaitSaysNothing) {
    EXPECT_EQ(said_at_the_end(device(), 0ns, 50ms), "");
}

// Runs in a process of its own: exits with 7 if it says nothing of the stuck kernel that it leaves
// behind.
[[noreturn]] void exit_beside_a_stuck_kernel(Device const& device) {
    testing::internal::CaptureStderr();
    (void)std::atexit([] { std::_Exit(captured_stderr().empty() ? 7 : 2); });
    static auto const& gate = *new Gate(device);
    static auto const& word = *new Memory(device.allocate_host(64));
    static std::optional<Kernel> kernel;  // goes before that
    auto* const entered = static_cast<std::uint64_t*>(word.device_ptr());
    kernel.emplace(device, KernelOptions{.stop_timeout = 0ns},
                   GatedHandler{gate.device_view(), entered});
    (void)kernel->channel().submit({1, 1}, patience);
    auto const* const seen = static_cast<std::uint64_t const*>(word.host_ptr());
    bool const stuck = eventually([&] { return HostCached().load_word(seen) == 1; });
    std::exit(stuck ? 1 : 3);  // NOLINT(concurrency-mt-unsafe)
}

// Catches an end that waits for as long as it likes once the process exits.
TEST_P(KernelLifetimeTest, stopTimeoutHoldsAtExitToo) {
    if (on_gpu()) GTEST_SKIP() << "the driver ends the kernel";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_beside_a_stuck_kernel(device()), testing::ExitedWithCode(7), "");
}

TEST_P(KernelLifetimeTest, kernelStartsAndStopsTwentyTimes) {
    for (std::uint64_t round = 0; round < 20; ++round) {
        Kernel kernel(device(), {.blocks = 3, .capacity = 8});
        expect_answer(kernel, round);
        kernel.stop(patience);
        ASSERT_FALSE(kernel.running());
    }
}

TEST_P(KernelLifetimeTest, kernelEndsByItselfAfterItsLifetime) {
    Kernel kernel(device(), {.lifetime = 20ms});
    ASSERT_TRUE(eventually([&] { return !kernel.running(); }));
    CARILLON_EXPECT_ERROR(kernel.channel().call({1, 0}, patience), StoppedError,
                          "Client::call: the kernel has ended");
    // Catches a look that a short deadline comes before: the cause is the end, not the time.
    CARILLON_EXPECT_ERROR(kernel.channel().call({1, 0}, 0ns), StoppedError, "the kernel has ended");
    // A client that only polls, or sends, gets the error too.
    auto const heard = [&] {
        try {
            (void)kernel.channel().try_submit({1, 0});
        } catch (StoppedError const& error) {
            return error.cause() == "the kernel has ended: its lifetime is over";
        }
        return false;
    };
    EXPECT_TRUE(eventually(heard));
    EXPECT_NO_THROW(kernel.stop(patience));
    Kernel next(device());
    expect_answer(next, 3);
}

TEST_P(KernelLifetimeTest, kernelWithoutALifetimeGoesOn) {
    Kernel mortal(device(), {.lifetime = 20ms});
    Kernel immortal(device());
    ASSERT_TRUE(eventually([&] { return !mortal.running(); }));
    EXPECT_TRUE(immortal.running());
    expect_answer(immortal, 4);
}

// Catches a free that blocks until the kernel ends (CUDA's does), or that comes too early or never.
TEST_P(KernelLifetimeTest, memoryIsFreedOnceNoKernelLives) {
    if (on_gpu()) GTEST_SKIP() << "the driver may keep its mappings";
    Kernel kernel(device());
    Kernel other(device());
    std::optional<Memory> memory = device().allocate(1U << 20);
    std::optional<Memory> host = device().allocate_host(1U << 20);
    MappedFile const file(*memory);
    MappedFile const host_file(*host);
    memory.reset();
    host.reset();
    kernel.stop(patience);
    EXPECT_TRUE(file.is_mapped());
    EXPECT_TRUE(host_file.is_mapped());
    expect_answer(other, 5);
    other.stop(patience);
    EXPECT_TRUE(file.is_mapped()) << "who stops a kernel has a deadline, and a free may take long";
    { Memory const next = device().allocate(64); }
    EXPECT_FALSE(file.is_mapped());
    EXPECT_FALSE(host_file.is_mapped());
}

TEST_P(KernelLifetimeTest, memoryIsFreedAtOnceWhereNoKernelLives) {
    if (on_gpu()) GTEST_SKIP() << "the driver may keep its mappings";
    std::optional<Memory> memory = device().allocate(1U << 20);
    MappedFile const file(*memory);
    EXPECT_TRUE(file.is_mapped());
    memory.reset();
    EXPECT_FALSE(file.is_mapped());
}

// A free that waited for the kernel would never come back: the test would time out.
TEST_P(KernelLifetimeTest, freeingMemoryDoesNotWaitForTheKernel) {
    Gate gate(device());
    Kernel kernel(device(), {}, GatedHandler{gate.device_view()});
    Ticket const ticket = kernel.channel().submit({1, 1}, patience);
    { Memory const memory = device().allocate(1U << 20); }
    { Memory const host = device().allocate_host(1U << 20); }
    Memory replaced = device().allocate(64);
    replaced = device().allocate(128);
    EXPECT_TRUE(kernel.running());
    gate.open(1);
    EXPECT_EQ(kernel.channel().wait(ticket, patience).value, 4U);
}

// Catches a kernel's thread that still holds the device after the kernel was seen to end, and
// would close it while the process is on its way out.
TEST_P(KernelLifetimeTest, deviceClosesWithTheLastThatUsesIt) {
    for (int round = 0; round < 20; ++round) {
        std::optional<Device> own = Device::open(GetParam());
        std::weak_ptr<detail::Backend> const backend = detail::DeviceAccess::backend(*own);
        {
            Kernel kernel(*own, {.blocks = 2, .capacity = 2});
            kernel.stop(patience);
        }
        EXPECT_FALSE(backend.expired());
        own.reset();
        ASSERT_TRUE(backend.expired());
    }
}

TEST_P(KernelLifetimeTest, kernelOutlivesTheDeviceObjectThatStartedIt) {
    std::optional<Device> second = Device::open(GetParam());
    Kernel kernel(*second);
    second.reset();
    expect_answer(kernel, 6);
}

}  // namespace
}  // namespace carillon::test

// SPDX-License-Identifier: Apache-2.0
// Kernels that need a larger stack than the threads of the GPU have, on a stand-in for the driver
// that waits for every kernel where CUDA does.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "carillon/carillon.hpp"
#include "edges/failures/cuda_stand_in.hpp"
#include "edges/failures/vulkan_stand_in.hpp"
#include "support/captured_stderr.hpp"
#include "support/environment_variable.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patient = 10s;

struct Thrice {
    CARILLON_HD int operator()(int const& value) const { return 3 * value; }
};
using Kernel = PersistentKernel<Thrice>;

KernelOptions options(std::chrono::nanoseconds start_timeout = patient) {
    return {.start_timeout = start_timeout, .wait = HostWait::Style::yield};
}
bool answers(Kernel& kernel) { return kernel.channel().call(14, patient) == 42; }

template <class Wanted>
std::string error_of(std::function<void()> const& call) {
    try {
        call();
    } catch (Wanted const& error) {
        return error.what();
    }
    return "no such error";
}
bool has(std::string const& text, char const* part) { return text.find(part) != text.npos; }

// Every test has a process, and so a driver, of its own.
class StackFailureTest : public testing::Test {
   protected:
    void SetUp() override {
        load_vulkan_stand_in();
        load_cuda_stand_in();
    }
    static void expect(std::function<bool()> const& right) {
        EXPECT_EQ(in_child([&] { return right() ? 0 : 1; }), 0);
    }
};

TEST_F(StackFailureTest, whatAllKernelsOfTheProgramNeedIsReservedBeforeTheFirstStarts) {
    expect([] {
        set_module_stack(6000);
        Device const device = Device::open("cuda:0");
        bool const reserved = stand_in_stack_limit() == 6000;
        Kernel small(device, options());
        set_kernel_stack(6000);
        Kernel large(device, options());
        return reserved && answers(small) && answers(large);
    });
}

TEST_F(StackFailureTest, whatItTakesIsSaidBefore) {
    expect([] {
        set_module_stack(8192);
        testing::internal::CaptureStderr();
        Device const device = Device::open("cuda:0");
        std::string const said = captured_stderr();
        StackUse const use = device.stack();
        return use.limit == 8192 && use.needed == 8192 && use.bytes() == 8192 * use.threads &&
               has(said, "8192 bytes of stack are reserved") && has(said, " GB of its memory");
    });
}

TEST_F(StackFailureTest, aKernelThatNeedsMoreBesideAnotherIsRefusedWithBothNumbers) {
    expect([] {
        Device const device = Device::open("cuda:0");
        Kernel small(device, options());
        set_kernel_stack(6144);
        std::string const said = error_of<UsageError>([&] { Kernel(device, options()); });
        return has(said, "needs 6144 bytes of stack") && has(said, "have 1024") &&
               has(said, "DeviceOptions::stack_bytes") && has(said, "CARILLON_STACK_BYTES") &&
               answers(small);
    });
}

TEST_F(StackFailureTest, theSameKernelStartsOnceNoOtherLives) {
    expect([] {
        Device const device = Device::open("cuda:0");
        { Kernel const small(device, options()); }
        set_kernel_stack(6144);
        Kernel large(device, options());
        return stand_in_stack_limit() == 6144 && answers(large);
    });
}

TEST_F(StackFailureTest, theOptionReservesMore) {
    expect([] {
        testing::internal::CaptureStderr();
        Device const device = Device::open("cuda:0", {.stack_bytes = 7000});
        if (has(captured_stderr(), "bytes of stack are reserved")) return false;  // it asked
        Kernel small(device, options());
        set_kernel_stack(7000);
        Kernel large(device, options());
        return stand_in_stack_limit() == 7000 && answers(small) && answers(large);
    });
}

TEST_F(StackFailureTest, theOptionMayKeepWhatOthersNeedFromBeingReserved) {
    expect([] {
        set_module_stack(30000);
        Device const device = Device::open("cuda:0", {.stack_bytes = 0});
        Kernel small(device, options());
        return stand_in_stack_limit() == 1024 && answers(small);
    });
}

TEST_F(StackFailureTest, theEnvironmentDoesWhatTheOptionDoes) {
    expect([] {
        Environment const bytes("CARILLON_STACK_BYTES", "5000");
        Device const device = Device::open("cuda:0");
        Kernel small(device, options());
        return stand_in_stack_limit() == 5000 && answers(small);
    });
}

TEST_F(StackFailureTest, aVariableThatIsNoNumberIsAnError) {
    expect([] {
        Environment const bytes("CARILLON_STACK_BYTES", "8 KiB");
        return has(error_of<UsageError>([] { (void)Device::open("cuda:0"); }), "\"8 KiB\"") &&
               has(error_of<UsageError>([] { (void)Device::open("emulated"); }), "\"8 KiB\"");
    });
}

TEST_F(StackFailureTest, aHigherLimitOfTheProgramStays) {
    expect([] {
        set_stand_in_stack_limit(16384);
        set_module_stack(6000);
        Device const device = Device::open("cuda:0", {.stack_bytes = 2000});
        Kernel small(device, options());
        return stand_in_stack_limit() == 16384 && answers(small);
    });
}

TEST_F(StackFailureTest, aKernelStartsThoughThereIsNoMemoryForTheStackOfOthers) {
    expect([] {
        set_module_stack(1 << 20);
        set_kernel_stack(2000);
        Device const device = Device::open("cuda:0");
        Kernel kernel(device, options());
        return stand_in_stack_limit() == 2000 && answers(kernel);
    });
}

TEST_F(StackFailureTest, noMemoryForItsOwnStackIsAnErrorWithTheNumbers) {
    expect([] {
        set_kernel_stack(1 << 20);
        Device const device = Device::open("cuda:0");
        return has(error_of<OutOfMemoryError>([&] { Kernel(device, options()); }),
                   "needs 1048576 bytes of stack for each of ");
    });
}

// A launch that returns too late starts a kernel that has already been told to stop.
TEST_F(StackFailureTest, aLaunchThatDoesNotComeBackIsATimeoutError) {
    expect([] {
        Device const device = Device::open("cuda:0");
        auto first = std::make_unique<Kernel>(device, options());
        let_next_launch_wait();
        std::string const said = error_of<TimeoutError>([&] { Kernel(device, options(50ms)); });
        bool const goes_on = answers(*first);
        first.reset();
        Kernel third(device, options());
        return has(said, "has not returned from the launch within start_timeout") && goes_on &&
               answers(third);
    });
}

TEST_F(StackFailureTest, aBodyWhoseLaunchDoesNotComeBackIsATimeoutError) {
    expect([] {
        Device const device = Device::open("cuda:0");
        Kernel first(device, options());
        let_next_launch_wait();
        std::string const said = error_of<TimeoutError>(
            [&] { (void)launch(device, LaunchShape{.start_timeout = 50ms}, [](unsigned) {}); });
        return has(said, "within start_timeout") && answers(first);
    });
}

}  // namespace
}  // namespace carillon::test
